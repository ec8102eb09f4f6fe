// SPDX-License-Identifier: GPL-2.0-only
// ---- Code that runs when the page is opened, and that connects the views, controls and data ----

let current = 'timeline';

function draw() {
  pending = false;
  let complete = true;
  if (current === 'timeline')
    complete = asTable ? (drawOverview(), timelineTable()) : drawTimeline();
  else if (current === 'flame')
    drawFlame();
  if (!performance.getEntriesByName('ntrace-drawn').length)
    performance.mark('ntrace-drawn');
  if (!complete) {
    $('status').textContent = 'reading the page ...';
    setTimeout(redraw, 100);
  } else if ($('status').textContent.startsWith('reading')) {
    $('status').textContent = summary();
  }
}

function redraw() {
  if (!pending)
    requestAnimationFrame(draw);
  pending = true;
}

function show(name) {
  current = name;
  for (const [tab, section] of [['timeline', 'timeline'], ['flame', 'flame-view'], ['functions', 'functions']]) {
    $(section).hidden = tab !== name;
    $('tab-' + tab).setAttribute('aria-selected', tab === name);
  }
  showTip(null, null);
  drawLegend();
  if (name === 'functions')
    drawFunctions();
  redraw();
}

function drawLegend() {
  const parts = current === 'functions' ? [] : [
    [fillOf({ name: 'main', object: 'a' }), 'function of a program'],
    [fillOf({ name: 'main', object: '[' }), 'function of the kernel'],
  ];
  if (current === 'timeline')
    parts.push([`color-mix(in srgb, ${fillOf({ name: 'main', object: 'a' })} 60%, ${theme.css.back})`, 'many short calls, in the colour of the longest'],
      [`repeating-linear-gradient(135deg, ${theme.css.loss} 0 2px, transparent 2px 5px)`, 'trace was lost']);
  $('legend').replaceChildren(...parts.map(([colour, text]) => {
    const span = element('span');
    element('i', undefined, span).style.background = colour;
    span.append(text);
    return span;
  }));
}

function setThemeAndDraw(dark) {
  setTheme(dark);
  drawLegend();
  if (shownFunction)
    drawHistogram(shownFunction, selected && selected.track.kind === THREAD && functions[selected.name] === shownFunction ? selected : null);
  redraw();
}

function zoomToSelection() {
  if (range && range[1] > range[0])
    setView(...range);
  else if (selected)
    showItem(selected);
}

function escape() {
  range = null;
  matched = null;
  $('search').value = $('search-state').textContent = '';
  if (current === 'flame')
    flame.zoomed = flame.tree;
  if (current === 'functions')
    drawFunctions();
  select(null);
}

const KEYS = {
  w: () => zoom(0.6), '+': () => zoom(0.6), '=': () => zoom(0.6), s: () => zoom(1 / 0.6), '-': () => zoom(1 / 0.6),
  a: () => pan(-0.2), d: () => pan(0.2), ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2),
  ArrowUp: () => scrollTo(view.y - 4 * ROW), ArrowDown: () => scrollTo(view.y + 4 * ROW),
  PageUp: () => scrollTo(view.y - $('tracks').clientHeight + 60), PageDown: () => scrollTo(view.y + $('tracks').clientHeight - 60),
  Home: () => scrollTo(0), End: () => scrollTo(view.height), 0: () => setView(0, meta.ns), f: zoomToSelection,
  v: () => setTable(!asTable), r: () => chooseRange(view.from, view.to), c: () => selected && fold(selected.track),
  n: () => step(1), p: () => step(-1), Enter: () => step(1), m: () => shownFunction && shownFunction.calls && showSlowest(shownFunction),
  '/': () => $('search').select(), 1: () => show('timeline'), 2: () => show('flame'), 3: () => show('functions'),
  t: () => setThemeAndDraw(!theme.dark), '?': () => $('help').showModal(), Escape: escape,
};

function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || $('help').open || /^(INPUT|SELECT)$/.test(event.target.tagName))
    return;
  const action = KEYS[event.key] ?? KEYS[event.key.toLowerCase()];
  const scrolls = event.target.closest('[role=region]') && /^(Arrow|Page|Home|End)/.test(event.key);
  if (!action || scrolls || (event.key === 'Enter' && /^(BUTTON|SUMMARY)$/.test(event.target.tagName)))
    return;
  event.preventDefault();
  action();
}

function summary() {
  const parts = [`${number(meta.calls)} calls`, `${number(meta.insns)} instructions`, duration(meta.ns)];
  if (meta.deep)
    parts.push(`${number(meta.deep)} calls too deep to be shown`);
  if (meta.losses)
    parts.push(`trace was lost ${number(meta.losses)} times`);
  if (meta.errors)
    parts.push(`${number(meta.errors)} places could not be decoded`);
  if (meta.gaps)
    parts.push(`code was missing ${number(meta.gaps)} times`);
  return parts.join(', ');
}

function start() {
  setTheme(theme.dark);
  document.title = `${meta.title} - N-Trace`;
  $('title').textContent = baseName(meta.title);
  $('title').title = `${meta.title}: ${summary()}`;
  $('status').textContent = summary();
  startTimeline();
  startFlame();
  startFunctions();
  startSearch();
  for (const name of ['timeline', 'flame', 'functions'])
    $('tab-' + name).onclick = () => show(name);
  $('zoom-in').onclick = () => zoom(0.6);
  $('zoom-out').onclick = () => zoom(1 / 0.6);
  $('zoom-fit').onclick = () => setView(0, meta.ns);
  $('table').onclick = () => setTable(!asTable);
  $('theme').onclick = () => setThemeAndDraw(!theme.dark);
  $('help-button').onclick = () => $('help').showModal();
  $('details-close').onclick = () => select(null);
  addEventListener('keydown', key);
  new ResizeObserver(redraw).observe($('tracks'));
  new ResizeObserver(redraw).observe($('flame-canvas'));
  show('timeline');
}

/* Properties of the current view, for scripts that control the page */
window.ntrace = Object.freeze({
  state: () => ({
    tab: current, from: view.from, to: view.to, y: view.y, height: view.height, complete: !pending,
    selected: selected && { track: selected.track.name, function: functions[selected.name].name, begin: selected.begin, ns: selected.ns, depth: selected.depth },
    matched: matched && matched.size, range, flame: flame.zoomed && flameText(flame.zoomed), cached,
  }),
  /* Return the screen position of visible item number @nth with this name, or undefined if there are fewer items */
  find: (name, nth = 0) => {
    const box = $('tracks').getBoundingClientRect(), scale = scaleOf(box.width), hits = [];
    for (const row of rows.filter(r => r.track && r.track.kind === THREAD))
      eachChunk(row.track, levelOf(1 / scale), view.from, view.to, items => {
        for (let i = 0; i < items.nr; i++) {
          if (!items.made[i] && functions[items.name[i]].name === name && items.begin[i] >= view.from && items.begin[i] <= view.to)
            hits.push([items.begin[i], row, items.depth[i], items.ns[i]]);
        }
      });
    hits.sort((a, b) => a[0] - b[0]);
    return hits[nth] && {
      x: box.left + GUTTER + (hits[nth][0] + hits[nth][3] / 2 - view.from) * scale,
      y: box.top + RULER + hits[nth][1].y - view.y + hits[nth][2] * ROW + ROW / 2,
    };
  },
});

start();
})();
