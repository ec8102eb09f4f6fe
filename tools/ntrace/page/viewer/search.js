// SPDX-License-Identifier: GPL-2.0-only
// ---- Search, and steps from call to call ----

const LISTED = 60;
let found = [], listAt = -1, walking = 0;

function search(text) {
  const wanted = text.trim().toLowerCase();
  found = wanted ? functions.filter(f => f.name.toLowerCase().includes(wanted)).sort((a, b) => b.calls - a.calls) : [];
  matched = wanted ? new Set(found.map(f => f.id)) : null;
  listAt = -1;
  const calls = found.reduce((n, f) => n + f.calls, 0);
  $('search-state').textContent = !wanted ? '' : `${number(found.length)} functions, ${number(calls)} calls`;
  listFound();
  redraw();
}

function listFound() {
  const list = $('search-list');
  list.hidden = !found.length;
  $('search').ariaExpanded = !list.hidden;
  $('search').setAttribute('aria-activedescendant', listAt < 0 ? '' : `found-${listAt}`);
  list.replaceChildren();
  found.slice(0, LISTED).forEach((f, i) => {
    const row = element('div', undefined, list);
    element('span', f.name, row);
    element('span', `${number(f.calls)} calls`, row);
    element('span', duration(f.total), row);
    row.className = i === listAt ? 'on' : '';
    row.role = 'option';
    row.id = `found-${i}`;
    row.ariaSelected = i === listAt;
    row.onmousedown = event => {
      event.preventDefault();
      choose(f);
    };
  });
}

/* Select one function of the search results, and step to its next call */
function choose(f) {
  matched = new Set([f.id]);
  $('search-list').hidden = true;
  $('search').blur();
  $('search-state').textContent = `${f.name}: ${number(f.calls)} calls; N and P go from one to the next`;
  showFunction(f);
  if (current === 'timeline')
    step(1);
  redraw();
}

function keyInSearch(event) {
  if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
    listAt = Math.max(-1, Math.min(listAt + (event.key === 'ArrowDown' ? 1 : -1), Math.min(found.length, LISTED) - 1));
    listFound();
    event.preventDefault();
  } else if (event.key === 'Enter') {
    const f = found[Math.max(listAt, 0)];
    if (f)
      choose(f);
    event.preventDefault();
  } else if (event.key === 'Escape') {
    $('search').value = '';
    search('');
    $('search').blur();
  }
  event.stopPropagation();
}

/* Compare two items by time, then by track, then by depth. Return a number above 0 if @a is after @b. */
const after = (a, b) => a.begin - b.begin || a.track.number - b.track.number || a.depth - b.depth;

function nearestIn(track, items, wanted, from, way, best) {
  for (let i = 0; i < items.nr; i++) {
    if (items.made[i] || !wanted.has(items.name[i]))
      continue;
    const d = way * (items.begin[i] - from.begin);
    if (d < 0 || (best && way * (items.begin[i] - best.begin) > 0))
      continue;
    const item = itemAt(track, items, i);
    if (way * after(item, from) > 0 && (!best || way * after(item, best) < 0))
      best = item;
  }
  return best;
}

/*
 * Return the next call of the functions in @wanted after the item @from, or the previous call if @way is -1. Let
 * the browser draw every 15 ms during the search.
 */
async function findNext(wanted, from, way) {
  const edge = way > 0 ? CHUNK.from : CHUNK.last, turn = ++walking;
  const order = Array.from({ length: nrChunks }, (_, i) => i).filter(i => tracks[field(i, CHUNK.track)].kind === THREAD &&
    way * (field(i, way > 0 ? CHUNK.last : CHUNK.from) - from.begin) >= 0);
  order.sort((a, b) => way * (field(a, edge) - field(b, edge)));
  let best = null, since = performance.now();
  for (const chunk of order) {
    if (best && way * (field(chunk, edge) - best.begin) > 0)
      break;
    const items = chunkItems(chunk);
    if (items)
      best = nearestIn(tracks[field(chunk, CHUNK.track)], items, wanted, from, way, best);
    if (performance.now() - since > 15) {
      await new Promise(resolve => setTimeout(resolve));
      if (turn !== walking)
        return null;
      since = performance.now();
    }
  }
  return best;
}

async function step(way) {
  const wanted = matched ?? (shownFunction && new Set([shownFunction.id]));
  if (!wanted || !wanted.size)
    return;
  const before = { begin: -1, depth: 0, track: tracks[0] }, last = { begin: Infinity, depth: 0, track: tracks[0] };
  const from = selected && selected.track.kind === THREAD && wanted.has(selected.name) ? selected : way > 0 ? before : last;
  $('status').textContent = 'looking ...';
  const item = await findNext(wanted, from, way) ?? await findNext(wanted, way > 0 ? before : last, way);
  $('status').textContent = item ? summary() : 'There is no such call.';
  if (item) {
    select(item);
    showItem(item);
  }
}

/* Show the slowest call of a function, which is found by its start time, duration and thread */
function showSlowest(f) {
  for (const track of tracks) {
    if (track.kind !== THREAD || threads[track.id].tid !== f.maxTid)
      continue;
    let best = null;
    eachChunk(track, 0, f.maxBegin, f.maxBegin, items => {
      for (let i = 0; i < items.nr; i++) {
        if (!items.made[i] && items.name[i] === f.id && items.begin[i] === f.maxBegin && items.ns[i] === f.max)
          best = itemAt(track, items, i);
      }
    });
    if (best) {
      show('timeline');
      select(best);
      showItem(best);
      return;
    }
  }
}

function startSearch() {
  $('search').addEventListener('input', event => search(event.target.value));
  $('search').addEventListener('keydown', keyInSearch);
  $('search').addEventListener('focus', listFound);
  $('search').addEventListener('blur', () => {
    $('search-list').hidden = true;
    $('search').ariaExpanded = false;
  });
}
