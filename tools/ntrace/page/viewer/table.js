// SPDX-License-Identifier: GPL-2.0-only
// ---- Tables with the contents of the pictures, for readers who do not see them or use only the keyboard ----

const TABLE_ROWS = 300;
let asTable = false;

/* Fill a table. The first cell of a row is a button if @action returns a function for the number of the row. */
function fillTable(table, names, rows, action = () => null) {
  const head = element('tr'), body = element('tbody'), buttons = () => [...table.querySelectorAll('button')];
  const focused = buttons().indexOf(document.activeElement);
  for (const name of names)
    element('th', name, head).scope = 'col';
  rows.forEach((cells, i) => {
    const row = element('tr', undefined, body), act = action(i);
    cells.forEach((text, k) => (!k && act ? buttonCell(text, row, act) : element('td', text, row)));
  });
  const top = element('thead');
  top.append(head);
  table.replaceChildren(top, body);
  buttons()[focused]?.focus();
}

/* List the visible calls and losses, the longest first. Items that are too short to be seen are not listed. */
function timelineTable() {
  const items = [], level = levelOf((view.to - view.from) / 1000);
  let complete = true, merged = false;
  for (const track of [...tracks.filter(t => t.kind === THREAD), ...lossTracks])
    complete = eachChunk(track, level, view.from, view.to, found => {
      for (let i = 0; i < found.nr; i++) {
        merged ||= found.made[i] > 0;
        if (!found.made[i] && found.begin[i] <= view.to && found.begin[i] + found.ns[i] >= view.from &&
            (!matched || track.kind === LOSS || matched.has(found.name[i])))
          items.push([found.ns[i], track, found, i]);
      }
    }) && complete;
  items.sort((a, b) => b[0] - a[0] || a[2].begin[a[3]] - b[2].begin[b[3]]);
  const shown = items.slice(0, TABLE_ROWS).map(([, track, found, i]) => itemAt(track, found, i));
  const rows = shown.map(item => [describe(item)[0], item.track.name, `${clock(item.begin)} s`, duration(item.ns), number(item.count), item.depth]);
  if (merged || items.length > TABLE_ROWS)
    rows.push(['... and shorter ones: zoom in, or search']);
  fillTable(document.querySelector('#timeline .table table'), ['what', 'of', 'began', 'took', 'instructions', 'depth'], rows,
    i => shown[i] && (() => select(shown[i])));
  return complete;
}

/*
 * List the chosen call of the flame graph, its caller, and the calls inside it. A button chooses the call in its
 * row.
 */
function flameTable() {
  const { zoomed, metric } = flame, nodes = [...(zoomed.parent ? [zoomed.parent] : []), zoomed, ...sortedChildren(zoomed)];
  const kind = node => (node === zoomed ? '' : node === zoomed.parent ? 'called by ' : 'calls ');
  const rows = nodes.slice(0, TABLE_ROWS).map(node => [kind(node) + flameName(node), node.f?.object ? baseName(node.f.object) : '', number(node.calls),
    duration(node.ns), duration(node.ran), number(node.insns), `${(100 * node[metric] / (flame.tree[metric] || 1)).toFixed(2)} %`]);
  fillTable(document.querySelector('#flame-view .table table'), ['function', 'of', 'calls', 'time', 'on CPU', 'instructions', 'part'], rows, i => () => zoomFlame(nodes[i]));
}

function setTable(on) {
  asTable = on;
  $('table').ariaPressed = on;
  for (const box of document.querySelectorAll('.table'))
    box.hidden = !on;
  for (const id of ['tracks', 'scrollbar', 'flame-canvas'])
    $(id).hidden = on;
  redraw();
}
