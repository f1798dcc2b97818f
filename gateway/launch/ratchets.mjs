/**
 * Sizes that may only shrink: functions of more than 50 lines, classes of more than 15 methods. Who adds one takes one
 * apart; who takes one apart lowers the number here. Tests count for nothing: theirs are lists of cases.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { listSources, repoRoot } from "./prepare.mjs";

const LINES_MAX = 50;
const METHODS_MAX = 15;
/** As many as there are. */
const LONG_FUNCTIONS = 4;
const LARGE_CLASSES = 7;

const TEST = /\.test(-d)?\.ts$|\/test\/|\.contract\.ts$/;

/** @returns {{ longFunctions: string[], largeClasses: string[] }} `path:line name size`, the largest first */
export function oversized(path, text) {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const longFunctions = [];
  const largeClasses = [];
  const lineOf = (at) => source.getLineAndCharacterOfPosition(at).line + 1;
  const nameOf = (node) => node.name?.getText(source) ?? node.parent?.name?.getText(source) ?? "(function)";
  const visit = (node) => {
    if (ts.isFunctionLike(node) && node.body !== undefined) {
      const lines = lineOf(node.getEnd()) - lineOf(node.getStart(source)) + 1;
      if (lines > LINES_MAX)
        longFunctions.push({ size: lines, text: `${path}:${lineOf(node.getStart(source))} ${nameOf(node)}` });
    }
    if (ts.isClassLike(node)) {
      const methods = node.members.filter((member) => ts.isMethodDeclaration(member)).length;
      if (methods > METHODS_MAX)
        largeClasses.push({ size: methods, text: `${path}:${lineOf(node.getStart(source))} ${nameOf(node)}` });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return { longFunctions, largeClasses };
}

/** Empty where the numbers above are the numbers there are. */
export function ratchetProblems() {
  const longFunctions = [];
  const largeClasses = [];
  for (const path of listSources()) {
    if (TEST.test(path)) continue;
    const found = oversized(path, readFileSync(join(repoRoot, path), "utf8"));
    longFunctions.push(...found.longFunctions);
    largeClasses.push(...found.largeClasses);
  }
  return [
    ...compare(`functions of more than ${LINES_MAX} lines`, "LONG_FUNCTIONS", longFunctions, LONG_FUNCTIONS),
    ...compare(`classes of more than ${METHODS_MAX} methods`, "LARGE_CLASSES", largeClasses, LARGE_CLASSES),
  ];
}

function compare(what, name, found, allowed) {
  if (found.length === allowed) return [];
  if (found.length < allowed) return [`${found.length} ${what}: lower ${name} in ratchets.mjs from ${allowed}`];
  const list = found.sort((left, right) => right.size - left.size).map(({ size, text }) => `    ${size} ${text}`);
  return [`${found.length} ${what}, ${allowed} allowed:\n${list.join("\n")}`];
}
