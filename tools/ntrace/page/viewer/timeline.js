// SPDX-License-Identifier: GPL-2.0-only
// ---- Timeline of CPUs and threads ----

const RULER = 30, ROW = 18, GAP = 7, HEADING = 24;
let GUTTER = 176;       // width of the column of names in pixels, less on a narrow screen
const view = { from: 0, to: Math.max(meta.ns, 1), y: 0, height: 0 };
const folded = new Set();
const lossTracks = tracks.filter(t => t.kind === LOSS && t.depth);
let rows = [];          // headings and tracks, with their positions
let selected = null;    // the selected item
let range = null;       // selected times, [from, to]
let hover = null;
let matched = null;     // Set of functions that the search found
let pending = false;

const minSpan = 20;
const scaleOf = width => (width - GUTTER) / (view.to - view.from);
const levelOf = nsPerPixel => Math.max(0, Math.min(meta.levels - 1, Math.floor(Math.log(nsPerPixel / 4) / Math.log(4))));

function layout() {
  rows = [];
  let y = 0, group = null;
  const add = (row, height) => {
    rows.push({ ...row, y, height });
    y += height;
  };
  const cpus = tracks.filter(t => t.kind === CPU);
  const order = t => (threads[t.id].pid > 0 ? 0 : threads[t.id].tid > 0 ? 1 : 2);
  const own = tracks.filter(t => t.kind === THREAD).sort((a, b) => order(a) - order(b) ||
    threads[a.id].pid - threads[b.id].pid || threads[a.id].tid - threads[b.id].tid);
  if (cpus.length)
    add({ heading: 'CPUs' }, HEADING);
  for (const track of cpus)
    add({ track, rows: 1 }, ROW + GAP);
  for (const track of own) {
    const t = threads[track.id];
    const name = t.pid > 0 ? `Process ${t.pid}` : t.tid > 0 ? 'Threads of unknown processes' : 'Idle and unknown threads';
    if (name !== group)
      add({ heading: group = name }, HEADING);
    const n = folded.has(track) ? 1 : Math.max(track.depth, 1);
    add({ track, rows: n }, n * ROW + GAP);
  }
  view.height = y;
  $('scrollbar').firstElementChild.style.height = `${y}px`;
}

/* ---- Drawing ---- */

function drawItem(c, items, i, x, w, y, level) {
  const name = items.name[i], dim = matched && !matched.has(name);
  c.fillStyle = dim ? theme.css.line : fill(name);
  if (items.made[i])
    c.globalAlpha = 0.6;
  c.fillRect(x, y, Math.max(w - (w > 3 ? 0.6 : 0), 1), ROW - 1.5);
  c.globalAlpha = 1;
  if (w < 22)
    return;
  const text = items.made[i] ? `${number(items.count[i])} calls` : functions[name].name;
  const shown = fitText(c, text, w - 6);
  if (shown) {
    c.fillStyle = dim ? theme.css.dim : theme.css.text;
    c.fillText(shown, x + 3, y + ROW / 2 - 0.5);
  }
}

function drawSlice(c, items, i, x, w, y) {
  const id = items.name[i];
  c.fillStyle = threadFill(id);
  if (items.made[i])
    c.globalAlpha = 0.6;
  c.fillRect(x, y, Math.max(w - (w > 3 ? 0.6 : 0), 1), ROW - 1.5);
  c.globalAlpha = 1;
  const shown = w < 22 ? '' : fitText(c, items.made[i] ? `${number(items.count[i])} switches` : threads[id].name, w - 6);
  if (shown) {
    c.fillStyle = threads[id].tid > 0 ? theme.css.text : theme.css.dim;
    c.fillText(shown, x + 3, y + ROW / 2 - 0.5);
  }
}

/* Draw the visible items of a track. Return false if some chunks are not loaded. */
function drawTrack(area, track, y, nr, draw) {
  const { c, width, height, scale, level } = area;
  return eachChunk(track, level, view.from, view.to, items => {
    const { begin, ns, depth, made } = items;
    for (let i = 0; i < items.nr; i++) {
      if (made[i] > level || begin[i] > view.to || begin[i] + ns[i] < view.from || depth[i] >= nr)
        continue;
      const top = y + depth[i] * ROW;
      if (top > height || top + ROW < RULER)
        continue;
      const x = Math.max(GUTTER + (begin[i] - view.from) * scale, GUTTER - 4);
      draw(c, items, i, x, Math.min(GUTTER + (begin[i] + ns[i] - view.from) * scale, width + 4) - x, top, level);
    }
  });
}

/*
 * Mark lost trace on the row of its CPU with a pattern, and on all rows with a light colour, because any thread may
 * have executed on this CPU during the loss.
 */
function drawLosses(area) {
  const { c, height, scale } = area, pattern = hatch(c, theme.css.loss);
  for (const loss of lossTracks) {
    const row = rows.find(r => r.track && r.track.kind === CPU && r.track.id === loss.id);
    drawTrack({ ...area, height: Infinity }, loss, RULER, 1, (_, items, i, x, w) => {
      c.fillStyle = theme.css.loss;
      c.globalAlpha = 0.09;
      c.fillRect(x, RULER, Math.max(w, 1), height - RULER);
      c.globalAlpha = 1;
      if (!row)
        return;
      const y = RULER + row.y - view.y;
      c.fillStyle = theme.css.back;
      c.fillRect(x, y, Math.max(w, 1.5), ROW);
      c.fillStyle = w < 4 ? theme.css.loss : pattern;
      c.fillRect(x, y, Math.max(w, 1.5), ROW);
      if (w > 74) {
        c.fillStyle = theme.css.back;
        c.fillRect(x + w / 2 - 33, y + 2, 66, ROW - 4);
        c.fillStyle = theme.css.loss;
        c.fillText('trace lost', x + w / 2 - 28, y + ROW / 2);
      }
    });
  }
}

function drawRuler({ c, width, height, scale }) {
  const step = niceStep(view.to - view.from, (width - GUTTER) / 110);
  c.fillStyle = theme.css.panel;
  c.fillRect(0, 0, width, RULER);
  c.strokeStyle = theme.css.line;
  c.fillStyle = theme.css.dim;
  c.lineWidth = 1;
  c.beginPath();
  for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
    const x = Math.round(GUTTER + (t - view.from) * scale) + 0.5;
    c.moveTo(x, RULER - 7);
    c.lineTo(x, RULER);
    c.fillText(axisTime(t, step), x + 4, RULER / 2 + 1);
  }
  c.moveTo(0, RULER + 0.5);
  c.lineTo(width, RULER + 0.5);
  c.stroke();
  c.fillText(`${duration(view.to - view.from)}${GUTTER < 100 ? '' : ' shown'}`, 10, RULER / 2 + 1);
}

/*
 * Return the text of a time on the axis, with the unit and the number of digits that the distance between labels
 * needs
 */
function axisTime(t, step) {
  const [unit, size] = step >= 1e8 ? ['s', 1e9] : step >= 1e5 ? ['ms', 1e6] : step >= 100 ? ['us', 1e3] : ['ns', 1];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
  return `${(t / size).toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })} ${unit}`;
}

function drawGutter({ c, width, height }, row, y) {
  if (row.heading) {
    c.fillStyle = theme.css.panel;
    c.fillRect(0, y, width, row.height - 3);
    c.fillStyle = theme.css.text;
    c.font = '600 ' + c.font;
    c.fillText(row.heading, 10, y + (row.height - 3) / 2 + 0.5);
    c.font = c.font.replace('600 ', '');
    return;
  }
  c.fillStyle = theme.css.back;
  c.fillRect(0, y, GUTTER - 1, row.height);
  c.fillStyle = theme.css.text;
  const sign = row.track.kind === THREAD && row.track.depth > 1 ? (folded.has(row.track) ? '▸ ' : '▾ ') : '';
  c.fillText(fitText(c, sign + row.track.name, GUTTER - 20), 10, y + ROW / 2);
}

function drawSelection({ c, width, height, scale }) {
  if (range) {
    const [a, b] = range.map(t => GUTTER + (t - view.from) * scale);
    c.fillStyle = theme.css.accent;
    c.globalAlpha = 0.14;
    c.fillRect(a, 0, b - a, height);
    c.globalAlpha = 1;
    c.fillRect(a, 0, 1, height);
    c.fillRect(b, 0, 1, height);
  }
  const row = selected && rows.find(r => r.track === selected.track);
  if (!row || selected.depth >= row.rows)
    return;
  const y = RULER + row.y - view.y + selected.depth * ROW;
  const a = Math.max(GUTTER + (selected.begin - view.from) * scale, GUTTER - 2);
  const b = Math.min(GUTTER + (selected.begin + selected.ns - view.from) * scale, width + 2);
  c.strokeStyle = theme.css.text;
  c.lineWidth = 2;
  if (b >= GUTTER - 2 && a <= width + 2)
    c.strokeRect(a, y, Math.max(b - a, 2), ROW - 2);
}

function drawTimeline() {
  const area = canvasOf($('tracks')), { c, width, height } = area;
  GUTTER = width < 700 ? 96 : 176;
  area.scale = scaleOf(width);
  area.level = levelOf(1 / area.scale);
  let complete = true;
  c.fillStyle = theme.css.back;
  c.fillRect(0, 0, width, height);
  for (const row of rows) {
    const y = RULER + row.y - view.y;
    if (y > height || y + row.height < RULER || row.heading)
      continue;
    const draw = row.track.kind === CPU ? drawSlice : drawItem;
    complete = drawTrack(area, row.track, y, row.rows, draw) && complete;
  }
  drawLosses(area);
  drawSelection(area);
  for (const row of rows) {
    const y = RULER + row.y - view.y;
    if (y <= height && y + row.height >= RULER)
      drawGutter(area, row, y);
  }
  c.fillStyle = theme.css.line;
  c.fillRect(GUTTER - 1, RULER, 1, height);
  drawRuler(area);
  drawOverview();
  return complete;
}

function drawOverview() {
  const { c, width, height } = canvasOf($('overview'));
  const scale = width / Math.max(meta.ns, 1), level = levelOf(1 / scale);
  const shown = tracks.filter(t => t.kind === CPU), step = (height - 10) / Math.max(shown.length, 1);
  c.fillStyle = theme.css.back;
  c.fillRect(0, 0, width, height);
  const each = (track, y, h, colour) => eachChunk(track, level, 0, meta.ns, items => {
    for (let i = 0; i < items.nr; i++) {
      if (items.made[i] > level)
        continue;
      c.fillStyle = colour(items.name[i]);
      c.fillRect(items.begin[i] * scale, y, Math.max(items.ns[i] * scale, 1), h);
    }
  });
  shown.forEach((track, n) => {
    each(track, 5 + n * step, Math.max(step - 1, 1), threadFill);
    for (const loss of lossTracks.filter(l => l.id === track.id))
      each(loss, 5 + n * step, Math.max(step - 1, 1), () => theme.css.loss);
  });
  const a = view.from * scale, b = view.to * scale;
  c.fillStyle = theme.css.dim;
  c.globalAlpha = 0.25;
  c.fillRect(0, 0, a, height);
  c.fillRect(b, 0, width - b, height);
  c.globalAlpha = 1;
  c.strokeStyle = theme.css.accent;
  c.lineWidth = 2;
  c.strokeRect(a + 1, 1, Math.max(b - a - 2, 3), height - 2);
}

/* ---- Change the visible time and rows ---- */

function setView(from, to) {
  const span = Math.min(Math.max(to - from, minSpan), Math.max(meta.ns, minSpan));
  from = Math.min(Math.max(from, 0), Math.max(meta.ns - span, 0));
  view.from = from;
  view.to = from + span;
  redraw();
}

function zoom(factor, at = (view.from + view.to) / 2) {
  setView(at - (at - view.from) * factor, at + (view.to - at) * factor);
}

const pan = part => setView(view.from + part * (view.to - view.from), view.to + part * (view.to - view.from));

function scrollTo(y) {
  view.y = Math.max(0, Math.min(y, view.height - $('tracks').clientHeight + RULER + 8));
  if ($('scrollbar').scrollTop !== Math.round(view.y))
    $('scrollbar').scrollTop = view.y;
  redraw();
}

function showItem(item) {
  folded.delete(item.track);
  layout();
  const row = rows.find(r => r.track === item.track), span = Math.max(item.ns * 3, minSpan);
  setView(item.begin - (span - item.ns) / 2, item.begin + item.ns + (span - item.ns) / 2);
  const y = row.y + item.depth * ROW;
  if (y < view.y || y + 3 * ROW > view.y + $('tracks').clientHeight - RULER)
    scrollTo(y - 80);
}

/* ---- Handle the mouse ---- */

function placeAt(event) {
  const box = $('tracks').getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  const scale = scaleOf(box.width), time = view.from + (x - GUTTER) / scale;
  const row = y < RULER ? null : rows.find(r => y - RULER + view.y >= r.y && y - RULER + view.y < r.y + r.height);
  const depth = row ? Math.floor((y - RULER + view.y - row.y) / ROW) : 0;
  return { x, y, time, row, depth, scale };
}

function itemUnder(event) {
  const { x, row, depth, time, scale } = placeAt(event);
  if (x < GUTTER || !row || row.heading || depth >= row.rows)
    return null;
  if (row.track.kind === CPU) {
    for (const loss of lossTracks) {
      const lost = loss.id === row.track.id && findItem(loss, 0, time, levelOf(1 / scale), 2 / scale);
      if (lost)
        return lost;
    }
  }
  return findItem(row.track, depth, time, levelOf(1 / scale), 2.5 / scale);
}

const KINDS = { 5: 'system call', 6: 'exception', 7: 'interrupt' };

function describe(item) {
  if (item.track.kind === LOSS)
    return ['Trace lost', `${duration(item.ns)}, ${item.track.name}: what was executed is not known`];
  if (item.track.kind === CPU)
    return [item.made ? `${number(item.count)} switches` : threads[item.name].name,
            `${duration(item.ns)} on ${item.track.name}`];
  const f = functions[item.name];
  if (item.made)
    return [`${number(item.count)} calls`, `within ${duration(item.ns)}; the longest is ${f.name}. Zoom in to see them.`];
  const kind = KINDS[item.kind & 15];
  return [f.name, `${duration(item.ns)}, ${number(item.count)} instructions${kind ? `, ${kind}` : ''}` +
    `${item.kind & 16 ? ', end not recorded' : ''} · ${baseName(f.object)}`];
}

function showTip(event, lines) {
  const tip = $('tip');
  tip.hidden = !lines;
  if (!lines)
    return;
  tip.replaceChildren(element('b', lines[0]), element('span', lines[1]));
  tip.style.left = `${Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)}px`;
  tip.style.top = `${event.clientY + 18 + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 10 : event.clientY + 18}px`;
}

function chooseRange(...times) {
  range = times.sort((a, b) => a - b).map(t => Math.min(Math.max(t, 0), meta.ns));
  showRange();
  redraw();
}

function fold(track) {
  if (!folded.delete(track))
    folded.add(track);
  layout();
  scrollTo(view.y);
}

function dragTracks(down) {
  const start = placeAt(down), { from, to, y } = { ...view };
  const choosing = down.shiftKey || start.y < RULER;
  let moved = false;
  const move = event => {
    const now = placeAt(event);
    moved ||= Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY) > 3;
    if (!moved)
      return;
    if (choosing) {
      chooseRange(start.time, now.time);
      return;
    }
    setView(from - (now.x - start.x) / start.scale, to - (now.x - start.x) / start.scale);
    scrollTo(y - (now.y - start.y));
  };
  const up = event => {
    removeEventListener('mousemove', move);
    removeEventListener('mouseup', up);
    if (!moved)
      click(event, start);
  };
  addEventListener('mousemove', move);
  addEventListener('mouseup', up);
}

function click(event, { x, row }) {
  if (x < GUTTER && row && row.track && row.track.kind === THREAD) {
    fold(row.track);
    return;
  }
  range = null;
  select(itemUnder(event));
}

function wheelTracks(event) {
  event.preventDefault();
  const step = event.deltaMode ? 30 : 1;
  if (event.ctrlKey || event.metaKey || event.altKey)
    zoom(Math.exp(event.deltaY * step * 0.002), placeAt(event).time);
  else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
    pan((event.deltaX || event.deltaY) * step / 1200);
  else
    scrollTo(view.y + event.deltaY * step);
}

function dragOverview(down) {
  const box = $('overview').getBoundingClientRect(), timeOf = e => (e.clientX - box.left) / box.width * meta.ns;
  const start = timeOf(down), inside = start > view.from && start < view.to && view.to - view.from < 0.98 * meta.ns;
  const { from, to } = { ...view };
  const move = event => {
    const now = timeOf(event);
    if (inside)
      setView(from + now - start, to + now - start);
    else if (Math.abs(event.clientX - down.clientX) > 3)
      setView(Math.min(start, now), Math.max(start, now));
  };
  const up = event => {
    removeEventListener('mousemove', move);
    removeEventListener('mouseup', up);
    if (!inside && Math.abs(event.clientX - down.clientX) <= 3)
      setView(start - (to - from) / 2, start + (to - from) / 2);
  };
  addEventListener('mousemove', move);
  addEventListener('mouseup', up);
}

function startTimeline() {
  layout();
  $('tracks').addEventListener('mousedown', event => event.button || dragTracks(event));
  $('tracks').addEventListener('dblclick', () => selected && showItem(selected));
  $('tracks').addEventListener('wheel', wheelTracks, { passive: false });
  $('tracks').addEventListener('mousemove', event => {
    hover = event.buttons ? null : itemUnder(event);
    $('tracks').style.cursor = hover ? 'pointer' : placeAt(event).y < RULER ? 'col-resize' : 'default';
    showTip(event, hover && describe(hover));
  });
  $('tracks').addEventListener('mouseleave', event => showTip(event, null));
  $('overview').addEventListener('mousedown', dragOverview);
  $('scrollbar').addEventListener('scroll', () => {
    if (Math.abs($('scrollbar').scrollTop - view.y) > 1)
      scrollTo($('scrollbar').scrollTop);
  });
}
