// SPDX-License-Identifier: GPL-2.0-only
// ---- Details of the selected call or function ----

let shownFunction = null;

function facts(list) {
  const dl = element('dl');
  for (const [name, value] of list) {
    element('dt', name, dl);
    element('dd', value, dl);
  }
  return dl;
}

/* Return the callers of a call, the outermost first */
function callers(item) {
  const list = [];
  for (let depth = 0; depth < item.depth; depth++) {
    const caller = findItem(item.track, depth, item.begin + item.ns / 2, 0, 1);
    if (caller)
      list.push(caller);
  }
  return list;
}

function callFacts(item) {
  const f = functions[item.name], kind = KINDS[item.kind & 15];
  const list = [
    ['took', `${duration(item.ns)}${item.kind & 16 ? ', as far as it was recorded' : ''}`],
    ['instructions', number(item.count)], ['began', `${clock(item.begin)} s`], ['by', item.track.name], ['of', f.object],
  ];
  if (kind)
    list.splice(1, 0, ['was', kind]);
  const box = facts(list), stack = callers(item);
  if (!stack.length)
    return [box];
  const ol = element('ol');
  for (const caller of stack)
    buttonCell(`${functions[caller.name].name}, ${duration(caller.ns)}`, ol, () => select(caller), 'li');
  return [box, element('h3', 'Called by'), ol];
}

function functionFacts(f) {
  return facts([
    ['calls', number(f.calls)], ['total', duration(f.total)], ['on CPU', duration(f.ran)], ['self', duration(f.self) + (f.self || !f.selfInsns ? '' : ', because only messages have times')],
    ['insns', number(f.insns)], ['self insns', number(f.selfInsns)], ['of', f.object],
  ]);
}

function openDetails(title) {
  $('details').hidden = false;
  $('details-title').textContent = title;
}

function closeDetails() {
  $('details').hidden = true;
  shownFunction = null;
}

function showFunction(f, item) {
  openDetails(f.name);
  $('details-facts').replaceChildren(...(item ? callFacts(item) : [functionFacts(f)]));
  if (!item && f.calls)
    element('button', 'Show the slowest call (M)', $('details-facts')).onclick = () => showSlowest(f);
  $('details-latency').hidden = $('details-source').hidden = false;
  drawHistogram(f, item);
  if (shownFunction !== f)
    showSource(f);
  shownFunction = f;
}

function select(item) {
  selected = item;
  if (!item) {
    closeDetails();
  } else if (item.track.kind === THREAD && !item.made) {
    showFunction(functions[item.name], item);
  } else {
    const [title, text] = describe(item);
    openDetails(title);
    shownFunction = null;
    $('details-facts').replaceChildren(facts([['what', text], ['began', `${clock(item.begin)} s`]]));
    $('details-latency').hidden = $('details-source').hidden = true;
  }
  redraw();
}

function showRange() {
  openDetails(`Range of ${duration(range[1] - range[0])}`);
  shownFunction = null;
  $('details-facts').replaceChildren(facts([['from', `${clock(range[0])} s`], ['to', `${clock(range[1])} s`],
    ['next', 'F zooms to it, Esc drops it']]));
  $('details-latency').hidden = $('details-source').hidden = true;
}

/* ---- Histogram of durations. Each power of two has sixteen buckets, and four buckets are drawn as one bar. ---- */

const bucketLow = b => (b < 16 ? b : (16 + b % 16) * 2 ** (Math.floor(b / 16) - 1));

function groups(f) {
  const bars = new Map();
  for (let i = 0; i < f.buckets.length; i += 2) {
    const bar = Math.floor(f.buckets[i] / 4);
    bars.set(bar, (bars.get(bar) ?? 0) + f.buckets[i + 1]);
  }
  return bars;
}

/* Return the position of a duration on the axis, in units of the width of a bar */
function barOf(ns) {
  if (ns < 16)
    return ns / 4;
  const log = Math.floor(Math.log2(ns));
  return (log - 3) * 4 + (ns / 2 ** log - 1) * 4;
}

function drawHistogram(f, item) {
  const bars = groups(f), { c, width, height } = canvasOf($('histogram'));
  c.clearRect(0, 0, width, height);
  $('histogram-text').textContent = !f.calls ? 'No call of it began and ended in the recording.' :
    `${number(f.calls)} calls: median ${duration(f.p50)}, p99 ${f.calls < 100 ? '-' : duration(f.p99)}, max ${duration(f.max)}`;
  const rows = [...bars].sort(([a], [b]) => a - b).map(([bar, n]) => [`${duration(bucketLow(bar * 4))} to ${duration(bucketLow(bar * 4 + 4))}`, number(n)]);
  fillTable($('histogram-table'), ['took', 'calls'], rows);
  if (!bars.size)
    return;
  const keys = [...bars.keys()], low = Math.min(...keys) - 1, high = Math.max(...keys) + 2, most = Math.max(...bars.values());
  const left = 44, bottom = height - 22, unit = (width - left - 10) / (high - low), x = bar => left + (bar - low) * unit;
  const tall = n => (bottom - 16) * Math.log1p(n) / Math.log1p(most);
  c.fillStyle = c.strokeStyle = theme.css.dim;
  for (let n = 1; n <= most * 1.01; n *= 10) {
    c.fillText(n.toLocaleString('en-US', { notation: 'compact' }), 4, bottom - tall(n));
    c.globalAlpha = 0.25;
    c.fillRect(left, Math.round(bottom - tall(n)), width - left, 1);
    c.globalAlpha = 1;
  }
  c.fillStyle = theme.css.accent;
  for (const [bar, n] of bars)
    c.fillRect(x(bar) + 0.5, bottom - tall(n), Math.max(unit - 1, 1), tall(n));
  c.fillStyle = theme.css.dim;
  const every = Math.max(4, Math.ceil(56 / unit / 4) * 4);
  for (let bar = Math.ceil(low / 4) * 4; bar < high; bar += every)
    c.fillText(duration(bucketLow(bar * 4)), x(bar), height - 9);
  if (!item)
    return;
  c.fillStyle = theme.css.loss;
  const at = x(barOf(item.ns)), onLeft = at > width - 60;
  c.fillRect(at - 1, 4, 2, bottom - 4);
  c.fillText('this call', onLeft ? at - 54 : at + 5, 10);
}

/* ---- Source ---- */

const sources = new Map();

function sourceOf(number) {
  const e = $('s' + number);
  if (!sources.has(number) && e)
    sources.set(number, JSON.parse(e.textContent));
  return sources.get(number);
}

function showSource(f) {
  const source = f.file < 0 ? null : sourceOf(f.file), box = $('source-lines');
  box.replaceChildren();
  $('source-title').textContent = 'Source';
  if (!source) {
    element('div', f.file < 0 ? 'Not known: the file has no debug information, or was left out.' : 'Not read yet.', box);
    return;
  }
  $('source-title').textContent = `${source.file}:${f.line}, with the instructions of each line`;
  const counts = new Map();
  for (let i = 0; i < source.lines.length; i += 2)
    counts.set(source.lines[i], source.lines[i + 1]);
  const most = Math.max(1, ...counts.values());
  const lines = source.text === null ? [...counts.keys()].map(n => [n, '(the file is not here)']) :
    source.text.split('\n').map((text, i) => [i + 1, text]);
  for (const [n, text] of lines) {
    const row = element('div', undefined, box), count = counts.get(n);
    element('span', count ? number(count) : '', row);
    element('span', n, row);
    row.append(text);
    if (count)
      row.style.background = `rgba(${getComputedStyle(document.documentElement).getPropertyValue('--heat')}, ${0.06 + 0.4 * count / most})`;
    if (n === f.line)
      row.className = 'at';
  }
  const at = box.querySelector('.at');
  box.scrollTop = at ? at.offsetTop - box.offsetTop - 40 : 0;
}
