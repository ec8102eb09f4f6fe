// SPDX-License-Identifier: GPL-2.0-only
// ---- Table of functions ----

const COLUMNS = [
  ['function', f => f.name, f => f.name], ['of', f => f.object, f => baseName(f.object)],
  ['calls', f => f.calls, f => number(f.calls)], ['total', f => f.total, f => duration(f.total)],
  ['on CPU', f => f.ran, f => duration(f.ran)], ['self', f => f.self, f => duration(f.self)],
  ['median', f => f.p50, f => duration(f.p50)], ['p99', f => f.p99, f => (f.calls < 100 ? '-' : duration(f.p99))], ['max', f => f.max, f => duration(f.max)],
  ['insns', f => f.insns, f => number(f.insns)], ['self insns', f => f.selfInsns, f => number(f.selfInsns)],
];
const ROWS_SHOWN = 500;
const table = { column: 3, up: false };

function compareFunctions(a, b) {
  const value = COLUMNS[table.column][1], x = value(a), y = value(b), order = x < y ? -1 : x > y ? 1 : 0;
  return (table.up ? order : -order) || (a.name < b.name ? -1 : 1);
}

/* Add a cell to a row of a table. The cell contains a button with the text. */
function buttonCell(text, row, action, name = 'td') {
  const button = element('button', text, element(name, undefined, row));
  button.className = 'plain';
  button.onclick = action;
  return button;
}

function drawFunctions() {
  const body = document.querySelector('#functions tbody');
  const all = functions.filter(f => f.calls && (!matched || matched.has(f.id))).sort(compareFunctions);
  body.replaceChildren();
  for (const f of all.slice(0, ROWS_SHOWN)) {
    const row = element('tr', undefined, body);
    buttonCell(f.name, row).title = f.name;
    for (const [, , text] of COLUMNS.slice(1))
      element('td', text(f), row).title = f.name;
    row.className = f === shownFunction ? 'on' : '';
    row.onclick = () => {
      showFunction(f);
      body.querySelector('.on')?.classList.remove('on');
      row.className = 'on';
    };
  }
  if (all.length > ROWS_SHOWN)
    element('td', `... and ${number(all.length - ROWS_SHOWN)} more: search finds them`, element('tr', undefined, body));
  document.querySelectorAll('#functions th').forEach((th, i) => {
    th.firstChild.textContent = COLUMNS[i][0] + (i === table.column ? (table.up ? ' ▴' : ' ▾') : '');
    th.ariaSort = i !== table.column ? 'none' : table.up ? 'ascending' : 'descending';
  });
}

function startFunctions() {
  const head = element('tr', undefined, document.querySelector('#functions thead'));
  COLUMNS.forEach((_, i) => {
    buttonCell('', head, () => {
      table.up = i === table.column ? !table.up : i < 2;
      table.column = i;
      drawFunctions();
    }, 'th');
  });
}
