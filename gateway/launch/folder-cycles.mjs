/**
 * Pairs and rings of folders that import each other, of the modules that dependency-cruiser reports. Files may be free
 * of circles where folders are not: then no folder can be read, tested or moved without the other. Tests, models and
 * recorded material may look anywhere, so they do not count.
 */
import { dirname } from "node:path";

const OUTSIDE = /\.test\.ts$|\/test\/|\.contract\.ts$|-model\.ts$|^node_modules\/|\.(json|mjs|cjs)$/;

/**
 * Each ring as one line, with the imports that make it. A folder is exactly that: what lies below it is another one.
 * @param {readonly { source: string, dependencies: readonly { resolved: string }[] }[]} modules
 * @returns {string[]}
 */
export function folderCycles(modules) {
  /** @type {Map<string, Map<string, string>>} folder → folder → an import that shows it */
  const edges = new Map();
  for (const { source, dependencies } of modules) {
    if (OUTSIDE.test(source)) continue;
    const from = dirname(source);
    for (const { resolved } of dependencies) {
      const to = dirname(resolved);
      if (OUTSIDE.test(resolved) || from === to || !resolved.endsWith(".ts")) continue;
      const row = edges.get(from) ?? new Map();
      edges.set(from, row);
      if (!row.has(to)) row.set(to, `${source} → ${resolved}`);
    }
  }
  return rings(edges).map((ring) => {
    const inside = new Set(ring);
    const imports = ring.flatMap((from) =>
      [...(edges.get(from) ?? [])].filter(([to]) => inside.has(to)).map(([, example]) => example),
    );
    return `folders import each other: ${ring.join(", ")}\n    ${imports.sort().join("\n    ")}`;
  });
}

/** Sets of two and more folders each of which reaches every other (Tarjan's strongly connected components). */
function rings(edges) {
  const found = [];
  const order = new Map();
  const lowest = new Map();
  const path = [];
  const visit = (folder) => {
    order.set(folder, order.size);
    lowest.set(folder, order.get(folder));
    path.push(folder);
    for (const next of edges.get(folder)?.keys() ?? []) {
      if (!order.has(next)) visit(next);
      if (path.includes(next)) lowest.set(folder, Math.min(lowest.get(folder), lowest.get(next)));
    }
    if (lowest.get(folder) !== order.get(folder)) return;
    const ring = path.splice(path.indexOf(folder));
    if (ring.length > 1) found.push(ring.sort());
  };
  for (const folder of edges.keys()) if (!order.has(folder)) visit(folder);
  return found;
}
