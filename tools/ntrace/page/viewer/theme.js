// SPDX-License-Identifier: GPL-2.0-only
// ---- Colours and canvases ----

const theme = { dark: matchMedia('(prefers-color-scheme: dark)').matches, css: {} };
let fills = [];

function hash(text) {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++)
    h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  h ^= h >>> 15;
  return Math.imul(h, 0x2c1b3c6d) >>> 8;
}

/* Return the colour of a function. The hue depends on its name. Functions of the kernel are blue-grey. */
function fillOf(f) {
  const h = hash(f.name);
  if (f.known === false)
    return theme.dark ? 'hsl(40 8% 36%)' : 'hsl(40 18% 80%)';
  if (isKernel(f))
    return theme.dark ? `hsl(${205 + h % 30} 14% ${32 + h % 9}%)` : `hsl(${205 + h % 30} 24% ${80 + h % 8}%)`;
  return theme.dark ? `hsl(${h % 360} 36% ${36 + h % 8}%)` : `hsl(${h % 360} ${58 + h % 16}% ${74 + h % 7}%)`;
}

const fill = name => fills[name] ??= fillOf(functions[name]);

const threadFills = [];
function threadFill(id) {
  const t = threads[id];
  if (t.tid <= 0)
    return theme.css.panel;
  return threadFills[id] ??= theme.dark ? `hsl(${hash(t.name) % 360} 34% 38%)` : `hsl(${hash(t.name) % 360} 52% 74%)`;
}

function setTheme(dark) {
  theme.dark = dark;
  document.documentElement.classList.toggle('dark', dark);
  const style = getComputedStyle(document.documentElement);
  for (const name of ['back', 'panel', 'line', 'text', 'dim', 'accent', 'mark', 'loss'])
    theme.css[name] = style.getPropertyValue('--' + name).trim();
  fills = [];
  threadFills.length = 0;
}

/* Set the resolution of a canvas to that of the screen, and its unit for drawing to CSS pixels */
function canvasOf(canvas) {
  const ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const c = canvas.getContext('2d');
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.font = '12px system-ui, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';
  c.textBaseline = 'middle';
  return { c, width, height };
}

const widths = new Map();
function textWidth(c, text) {
  let w = widths.get(text);
  if (w === undefined) {
    if (widths.size > 20000)
      widths.clear();
    w = c.measureText(text).width;
    widths.set(text, w);
  }
  return w;
}

/*
 * Return the start of the text that fits into a width of @room pixels, or an empty text if fewer than three letters
 * fit
 */
function fitText(c, text, room) {
  if (room < 16)
    return '';
  const width = textWidth(c, text);
  if (width <= room)
    return text;
  const n = Math.floor(text.length * (room - 8) / width);
  return n < 3 ? '' : text.slice(0, n) + '…';
}

function hatch(c, colour) {
  const tile = document.createElement('canvas');
  tile.width = tile.height = 8;
  const t = tile.getContext('2d');
  t.strokeStyle = colour;
  t.lineWidth = 2;
  for (const x of [-8, 0, 8]) {
    t.moveTo(x, 8);
    t.lineTo(x + 8, 0);
  }
  t.stroke();
  return c.createPattern(tile, 'repeat');
}

/* Return the size of a step, which is 1, 2 or 5 times a power of ten. About @n steps fit into @range. */
function niceStep(range, n) {
  const rough = range / n, power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5].find(m => m * power >= rough) ?? 10);
}
