// SPDX-License-Identifier: GPL-2.0-only
// ---- Flame graph, in which calls with the same callers are added up ----

const flame = { roots: null, tree: null, zoomed: null, metric: 'ns', boxes: [] };

const flameNode = (f, parent) => ({ f, parent, calls: 0, ns: 0, ran: 0, insns: 0, children: new Map() });

function readFlame() {
  const { more, next } = reader(bytesOf($('flame').textContent)), nodes = [flameNode(null, null)];
  while (more()) {
    const parent = nodes[nodes.length - next()], name = next();
    const node = flameNode(parent === nodes[0] ? threads[name] : functions[name], parent);
    [node.calls, node.ns, node.ran, node.insns] = [next(), next(), next(), next()];
    parent.children.set(node.f, node);
    nodes.push(node);
  }
  return [...nodes[0].children.values()];
}

function addTree(to, from) {
  for (const [f, child] of from.children) {
    if (!to.children.has(f))
      to.children.set(f, flameNode(f, to));
    const node = to.children.get(f);
    node.calls += child.calls;
    node.ns += child.ns;
    node.ran += child.ran;
    node.insns += child.insns;
    addTree(node, child);
  }
}

/* Make the tree of calls. The root is not a call, so its sums are those of its children. */
function makeFlame() {
  const which = $('flame-thread').value, tree = flameNode(null, null);
  flame.roots ??= readFlame();
  for (const root of flame.roots) {
    if (which === 'all' ? root.f.tid > 0 : which === 'every' || String(root.f.id) === which)
      addTree(tree, root);
  }
  for (const child of tree.children.values()) {
    tree.ns += child.ns;
    tree.ran += child.ran;
    tree.insns += child.insns;
    tree.calls += child.calls;
  }
  flame.tree = flame.zoomed = tree;
}

const flameName = node => (node.f ? node.f.name : 'all');
const sortedChildren = node => node.sorted?.[flame.metric] ?? ((node.sorted ??= {})[flame.metric] =
  [...node.children.values()].sort((a, b) => b[flame.metric] - a[flame.metric] || (a.f.name < b.f.name ? -1 : 1)));

function drawFlameNode(area, node, x, w, depth) {
  const { c, height } = area, y = 4 + depth * (ROW + 1);
  if (w < 0.6 || y > height)
    return;
  const dim = matched && node.f && !matched.has(node.f.id);
  c.fillStyle = !node.f ? theme.css.panel : dim ? theme.css.line : fill(node.f.id);
  c.fillRect(x, y, Math.max(w - 0.7, 0.6), ROW);
  flame.boxes.push({ node, x, w, y });
  const text = fitText(c, flameName(node), w - 8);
  if (text) {
    c.fillStyle = dim ? theme.css.dim : theme.css.text;
    c.fillText(text, x + 4, y + ROW / 2 + 0.5);
  }
  const children = sortedChildren(node), sum = children.reduce((n, child) => n + child[flame.metric], 0);
  const scale = w / Math.max(node[flame.metric], sum, 1e-9);
  for (const child of children) {
    drawFlameNode(area, child, x, child[flame.metric] * scale, depth + 1);
    x += child[flame.metric] * scale;
  }
}

function drawFlame() {
  if (!flame.tree)
    makeFlame();
  $('flame-path').textContent = flameText(flame.zoomed);
  if (asTable) {
    flameTable();
    return;
  }
  const area = canvasOf($('flame-canvas')), { c, width, height } = area, path = [];
  c.fillStyle = theme.css.back;
  c.fillRect(0, 0, width, height);
  flame.boxes = [];
  for (let node = flame.zoomed.parent; node; node = node.parent)
    path.unshift(node);
  path.forEach((node, depth) => {
    const y = 4 + depth * (ROW + 1);
    c.fillStyle = theme.css.panel;
    c.fillRect(0, y, width - 12, ROW);
    c.fillStyle = theme.css.dim;
    c.fillText(fitText(c, flameName(node), width - 20), 4, y + ROW / 2 + 0.5);
    flame.boxes.push({ node, x: 0, w: width, y });
  });
  drawFlameNode(area, flame.zoomed, 0, width - 12, path.length);
  if (!flame.tree.children.size) {
    c.fillStyle = theme.css.dim;
    c.fillText('No call of this thread was recorded.', 12, 60);
  }
}

function flameText(node) {
  const part = flame.tree[flame.metric] ? ` (${(100 * node[flame.metric] / flame.tree[flame.metric]).toFixed(2)} %)` : '';
  return `${flameName(node)}: ${number(node.calls)} calls, ${duration(node.ns)}, ${duration(node.ran)} on CPU, ${number(node.insns)} instructions${part}`;
}

function flameBox(event) {
  const box = $('flame-canvas').getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  return flame.boxes.find(b => x >= b.x && x < b.x + b.w && y >= b.y && y < b.y + ROW);
}

function zoomFlame(node) {
  flame.zoomed = node;
  if (functions.includes(node.f))
    showFunction(node.f);
  redraw();
}

function startFlame() {
  const choose = $('flame-thread');
  choose.append(new Option('all threads', 'all'), new Option('all, with idle ones', 'every'));
  for (const t of threads)
    choose.append(new Option(t.name, t.id));
  choose.onchange = () => {
    makeFlame();
    redraw();
  };
  $('flame-metric').onchange = event => {
    flame.metric = event.target.value;
    redraw();
  };
  $('flame-canvas').addEventListener('click', event => {
    const box = flameBox(event);
    if (!box)
      return;
    zoomFlame(box.node);
  });
  $('flame-canvas').addEventListener('mousemove', event => {
    const box = flameBox(event), text = box && flameText(box.node);
    $('flame-canvas').style.cursor = box ? 'pointer' : 'default';
    showTip(event, box && [flameName(box.node), text.slice(flameName(box.node).length + 2)]);
  });
  $('flame-canvas').addEventListener('mouseleave', event => showTip(event, null));
}
