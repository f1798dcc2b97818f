/**
 * No source adds both shares of a key (docs/mpc.md, duty 34): a gate over the syntax of every file that may hold one. It
 * sees sums of what is called a share; what a name hides, the memory test looks for (bench: custody-memory).
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const FOLDERS = ["engine/custody", "gateway/custody", "gateway/cosigner", "gateway/children", "gateway/admin"];
/** Where sums of shares stand, and what they are. */
const ALLOWED: ReadonlyMap<string, string> = new Map([
  // Shares of u and w, which both parties send each other in F4 and F5: their sums are the signature.
  ["engine/custody/mpc/parts/final-signature.ts", "shares[0].u + shares[1].u, shares[0].w + shares[1].w"],
  // Points: the public key.
  ["engine/custody/mpc/sessions/keygen-draws.ts", "sum(own.share.point, received.share.point)"],
  // Tests that compute the key, to compare with.
  ["engine/custody/mpc/test/signature.test.ts", "keys.shares[0] + keys.shares[1]"],
  ["engine/custody/mpc/parts/final-signature.test.ts", "shares[0].w + shares[1].w, shares[0].u + shares[1].u"],
  ["engine/custody/mpc/test/slow-sign.ts", "shares[0].w + shares[1].w, shares[0].u + shares[1].u"],
  // Shares of one's own product, of two rows.
  [
    "engine/custody/mpc/parts/multiply-chooser.ts",
    "(shares[at + 2] ?? 0n) + theta0 * (shares[at] ?? 0n) + theta1 * (shares[at + 1] ?? 0n), (shares[at + 2] ?? 0n) + theta0 * (shares[at] ?? 0n)",
  ],
]);

const NAMES_SHARE = /share|secret|\bx_?[01io]\b/i;
const ADDS = /^(add|sum|plus|addPoints)$/;

/** The texts of all sums in `text` whose two sides name a share. */
function sumsOfShares(text: string): readonly string[] {
  const file = ts.createSourceFile("file.ts", text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const sides = sidesOf(node);
    if (sides?.every((side) => NAMES_SHARE.test(side.getText(file)) && !isText(side)) === true)
      found.push(node.getText(file));
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

function sidesOf(node: ts.Node): readonly ts.Expression[] | null {
  if (ts.isBinaryExpression(node)) {
    const { kind } = node.operatorToken;
    const isSum = kind === ts.SyntaxKind.PlusToken || kind === ts.SyntaxKind.PlusEqualsToken;
    return isSum ? [node.left, node.right] : null;
  }
  if (!ts.isCallExpression(node)) return null;
  const { expression: callee, arguments: given } = node;
  if (ts.isPropertyAccessExpression(callee) && ADDS.test(callee.name.text))
    return given.length > 1 ? [...given] : [callee.expression, ...given];
  return ts.isIdentifier(callee) && ADDS.test(callee.text) ? [...given] : null;
}

const isText = (node: ts.Expression): boolean => ts.isStringLiteralLike(node) || ts.isTemplateExpression(node);

function sourcesIn(folder: string): readonly string[] {
  const entries = readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith(".ts"));
  return files.map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
}

describe("the gate against a sum of both shares", () => {
  it.each([
    "const x = x_0 + x_1;",
    "const key = reduced(own.share + other.share);",
    "let sum = shares[0]; sum = sum + 0n; const key = keys.shares[0] + keys.shares[1];",
    "key.share += peer.share;",
    "const key = add(firstShare, secondShare);",
    "const key = Fn.add(a.share, b.share);",
    "const key = (x0 % n) + (x1 % n);",
  ])("finds %s", (text) => {
    expect(sumsOfShares(text).length).toBe(1);
  });

  it.each(["const next = old.share + delta;", 'const name = "share " + "of a share";', "const c = ctr + 1n;"])(
    "lets %s pass",
    (text) => {
      expect(sumsOfShares(text)).toEqual([]);
    },
  );

  it("finds none in the sources, but the ones that are named here with what they are", () => {
    const files = FOLDERS.flatMap(sourcesIn).filter((path) => path !== relative(ROOT, fileURLToPath(import.meta.url)));
    expect(files.length).toBeGreaterThan(150);
    const found = new Map<string, string>();
    for (const path of files) {
      const sums = sumsOfShares(readFileSync(join(ROOT, path), "utf8"));
      if (sums.length > 0) found.set(path, sums.join(", "));
    }
    expect(Object.fromEntries([...found].sort())).toEqual(Object.fromEntries([...ALLOWED].sort()));
  });
});
