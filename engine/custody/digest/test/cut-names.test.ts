/** Names of types that hold more than a word: others look them up by the word at their beginning. */
import { hashTypedData, type TypedDataDefinition } from "viem";
import { describe, expect, it } from "vitest";
import { toHex } from "../bytes.js";
import { typedDataDigest } from "../typed-data-hash.js";
import { readTypedData } from "../typed-data-reader.js";
import { jsonBytes, type TypedDataJson } from "./typed-data-cases.js";

const FLAT = [{ name: "a", type: "bool" }];
const VALUE = { a: true };

function typedData(
  types: TypedDataJson["types"],
  message: TypedDataJson["message"],
  domain: TypedDataJson["domain"] = {},
): TypedDataJson {
  return { types, primaryType: Object.keys(types)[0] ?? "", domain: { chainId: 1, ...domain }, message };
}

function readAs(typed: TypedDataJson): string {
  const read = readTypedData(jsonBytes(typed));
  return read.ok ? toHex(typedDataDigest(read.typed)) : `refused: ${read.problem}`;
}

function viemOf(typed: TypedDataJson): string {
  return hashTypedData(typed as unknown as TypedDataDefinition);
}

describe("a type whose name has a colon or a dollar sign", () => {
  it.each(["A:B", "A$", "$"])("%s is taken alone, as viem reads it", (name) => {
    const typed = typedData({ [name]: FLAT, C: FLAT }, VALUE);
    expect(readAs(typed)).toBe(viemOf(typed));
  });

  const CUT: readonly (readonly [what: string, typed: TypedDataJson])[] = [
    ...["A:B", "A$", "$"].flatMap((name): [string, TypedDataJson][] => [
      [`${name} uses a struct`, typedData({ [name]: [{ name: "c", type: "C[]" }], C: FLAT }, { c: [VALUE] })],
      [`a struct uses ${name}`, typedData({ C: [{ name: "x", type: name }], [name]: FLAT }, { x: VALUE })],
      [`${name} refers to itself`, typedData({ [name]: [{ name: "x", type: `${name}[]` }] }, { x: [] })],
    ]),
    ["A:B is beside A", typedData({ "A:B": FLAT, A: FLAT }, VALUE)],
    ["A$ is beside A", typedData({ A$: FLAT, A: FLAT }, VALUE)],
    ["EIP712Domain:A", typedData({ "EIP712Domain:A": FLAT }, VALUE)],
  ];
  it.each(CUT)("is refused where others read another type: %s", (_, typed) => {
    expect(readAs(typed)).toMatch(/^refused: types\..*: a name that others cut$/);
  });
});
