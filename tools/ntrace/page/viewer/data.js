// SPDX-License-Identifier: GPL-2.0-only
// ---- Data of the page, with names, tracks, and chunks of items, which are decoded when they are needed ----

const $ = id => document.getElementById(id);
const meta = JSON.parse($('meta').textContent);
const [CPU, LOSS, THREAD] = [0, 1, 2];
const UNKNOWN = '[unknown]';
const CHUNK = { fields: 7, track: 0, level: 1, nr: 2, first: 3, from: 4, last: 5, to: 6 };
const ITEMS_KEPT = 4e6;

const baseName = path => path.slice(path.lastIndexOf('/') + 1);

/* Minimum duration in ns of an item that level k shows separately, and not merged with others */
const levelNs = k => 4 * 4 ** k;

/*
 * Return the name of code without a symbol, which is the name of its file in brackets. The name of the kernel
 * already has brackets.
 */
const unknownName = object => (object?.startsWith('[') ? object : `[${baseName(object ?? 'unknown')}]`);

const functions = meta.functions.map((f, id) => ({
  id, name: f[0] ?? unknownName(f[1]), known: f[0] !== null, object: f[1] ?? UNKNOWN, file: f[2], line: f[3], calls: f[4],
  total: f[5], self: f[6], max: f[7], maxBegin: f[8], maxTid: f[9], insns: f[10], selfInsns: f[11],
  p50: f[12], p99: f[13], buckets: f[14], ran: f[15],
}));

function threadName(tid, cpu, comm) {
  if (tid === 0)
    return `idle, CPU ${cpu}`;
  return tid < 0 ? `unknown thread, CPU ${cpu}` : comm ? `${comm} ${tid}` : `thread ${tid}`;
}

const threads = meta.threads.map(([pid, tid, cpu, comm], id) =>
  ({ id, pid, tid, cpu, comm, name: threadName(tid, cpu, comm) }));

const tracks = meta.tracks.map(([kind, id, depth], number) => ({
  number, kind, id, depth, levels: Array.from({ length: meta.levels }, () => []),
  name: kind === THREAD ? threads[id].name : id < 0 ? 'CPU not known' : `CPU ${id}`,
}));

const nrChunks = meta.chunks.length / CHUNK.fields;
const field = (chunk, which) => meta.chunks[chunk * CHUNK.fields + which];
for (let i = 0; i < nrChunks; i++)
  tracks[field(i, CHUNK.track)].levels[field(i, CHUNK.level)].push(i);

function bytesOf(text) {
  if (Uint8Array.fromBase64)
    return Uint8Array.fromBase64(text);
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++)
    bytes[i] = raw.charCodeAt(i);
  return bytes;
}

/* Read numbers that are stored with 7 bits in each byte, the least significant bits first */
function reader(bytes) {
  let at = 0;
  return {
    more: () => at < bytes.length,
    next() {
      let byte = bytes[at++], value = byte & 127, scale = 128;
      for (; byte >= 128; scale *= 128) {
        byte = bytes[at++];
        value += (byte & 127) * scale;
      }
      return value;
    },
  };
}

function decode(bytes, nr, first) {
  const items = {
    nr, begin: new Float64Array(nr), ns: new Float64Array(nr), depth: new Uint16Array(nr),
    name: new Uint32Array(nr), count: new Float64Array(nr), made: new Uint8Array(nr), kind: new Uint8Array(nr),
  };
  const { next } = reader(bytes);
  let begin = first;
  for (let i = 0; i < nr; i++) {
    const delta = next();
    begin += delta % 2 ? -(delta + 1) / 2 : delta / 2;
    items.begin[i] = begin;
    items.ns[i] = next();
    const depth = next();
    items.depth[i] = depth / 2;
    items.name[i] = next();
    items.count[i] = next();
    (depth % 2 ? items.made : items.kind)[i] = next();
  }
  return items;
}

const cache = new Map();
let cached = 0;

/* Return the items of a chunk, or null if the browser has not loaded the chunk */
function chunkItems(chunk) {
  let items = cache.get(chunk);
  if (items) {
    cache.delete(chunk);
    cache.set(chunk, items);
    return items;
  }
  const element = $('c' + chunk);
  /* While the page is loading, the last element may be incomplete */
  if (!element || (document.readyState === 'loading' && !element.nextElementSibling))
    return null;
  items = decode(bytesOf(element.textContent), field(chunk, CHUNK.nr), field(chunk, CHUNK.first));
  cache.set(chunk, items);
  cached += items.nr;
  for (const [oldest, old] of cache) {
    if (cached <= ITEMS_KEPT)
      break;
    cache.delete(oldest);
    cached -= old.nr;
  }
  return items;
}

/*
 * Call visit(items) for each chunk of the track that has a level of @level or above, and overlaps the times from
 * @from to @to. Return false if the browser has not loaded all of these chunks.
 */
function eachChunk(track, level, from, to, visit) {
  let complete = true;
  for (let k = level; k < meta.levels; k++) {
    for (const chunk of track.levels[k]) {
      if (field(chunk, CHUNK.from) > to || field(chunk, CHUNK.to) < from)
        continue;
      const items = chunkItems(chunk);
      if (items)
        visit(items);
      else
        complete = false;
    }
  }
  return complete;
}

const itemAt = (track, items, i) => ({
  track, begin: items.begin[i], ns: items.ns[i], depth: items.depth[i], name: items.name[i],
  count: items.count[i], made: items.made[i], kind: items.kind[i],
});

/* Return the item of a row that is nearest to a time. If its distance is more than @slack ns, return null. */
function findItem(track, depth, time, level, slack) {
  let best = null, distance = slack;
  eachChunk(track, level, time - slack, time + slack, items => {
    for (let i = 0; i < items.nr; i++) {
      if (items.depth[i] !== depth || items.made[i] > level)
        continue;
      const off = Math.max(items.begin[i] - time, time - items.begin[i] - items.ns[i], 0);
      if (off < distance || (off === distance && (!best || items.ns[i] > best.ns))) {
        best = itemAt(track, items, i);
        distance = off;
      }
    }
  });
  return best;
}

/* ---- Text ---- */

function duration(ns) {
  const units = ['ns', 'us', 'ms', 's'];
  let unit = 0;
  for (; ns >= 999.5 && unit < 3; unit++)
    ns /= 1000;
  return `${ns >= 100 || !unit ? Math.round(ns) : ns.toPrecision(3)} ${units[unit]}`;
}

const number = n => Math.round(n).toLocaleString('en-US');
const isKernel = f => f.object.startsWith('[');

/* Convert ns from the start of the page to a time in seconds, as `ntrace script` prints it */
function clock(ns) {
  const [seconds, rest] = meta.start.split('.');
  const all = BigInt(seconds) * 1000000000n + BigInt(rest) + BigInt(Math.round(ns));
  return `${all / 1000000000n}.${String(all % 1000000000n).padStart(9, '0')}`;
}

function element(tag, text, parent) {
  const e = document.createElement(tag);
  if (text !== undefined)
    e.textContent = text;
  if (parent)
    parent.append(e);
  return e;
}
