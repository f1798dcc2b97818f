/** Strict reading of typed data, and the example of EIP-712 itself. */
import { describe, expect, it } from "vitest";
import { toHex } from "./bytes.js";
import { jsonBytes } from "./test/typed-data-cases.js";
import { domainSeparator, typedDataDigest, typeString } from "./typed-data-hash.js";
import { readTypedData } from "./typed-data-reader.js";

const DOMAIN_TYPE = [
  { name: "name", type: "string" },
  { name: "version", type: "string" },
  { name: "chainId", type: "uint256" },
  { name: "verifyingContract", type: "address" },
];

/** The example of the standard. */
const MAIL = {
  types: {
    EIP712Domain: DOMAIN_TYPE,
    Person: [
      { name: "name", type: "string" },
      { name: "wallet", type: "address" },
    ],
    Mail: [
      { name: "from", type: "Person" },
      { name: "to", type: "Person" },
      { name: "contents", type: "string" },
    ],
  },
  primaryType: "Mail",
  domain: {
    name: "Ether Mail",
    version: "1",
    chainId: 1,
    verifyingContract: "0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC",
  },
  message: {
    from: { name: "Cow", wallet: "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826" },
    to: { name: "Bob", wallet: "0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB" },
    contents: "Hello, Bob!",
  },
};

function read(value: unknown) {
  const result = readTypedData(typeof value === "string" ? new TextEncoder().encode(value) : jsonBytes(value));
  return result.ok ? toHex(typedDataDigest(result.typed)) : `refused: ${result.problem}`;
}

/** One field `x` of a type, with a value. */
function one(type: string, x: unknown, more: Record<string, unknown> = {}) {
  return { types: { T: [{ name: "x", type }], ...more }, primaryType: "T", domain: {}, message: { x } };
}

describe("the example of EIP-712", () => {
  it("has the digest, the domain separator and the type string that the standard prints", () => {
    const result = readTypedData(jsonBytes(MAIL));
    if (!result.ok) throw new Error(result.problem);
    expect(typeString(result.typed.types, "Mail")).toBe(
      "Mail(Person from,Person to,string contents)Person(string name,address wallet)",
    );
    expect(toHex(domainSeparator(result.typed.domain))).toBe(
      "0xf2cee375fa42b42143804025fc449deafd50cc031ca257e0b194a650a912090f",
    );
    expect(toHex(typedDataDigest(result.typed))).toBe(
      "0xbe609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2",
    );
  });

  it("has the same digest when the domain's type is left out", () => {
    const { EIP712Domain: _, ...types } = MAIL.types;
    expect(read({ ...MAIL, types })).toBe(read(MAIL));
  });
});

describe("a type that refers to itself", () => {
  const types = { Node: [{ name: "next", type: "Node[]" }] };
  const nest = (depth: number): unknown => ({ next: depth === 0 ? [] : [nest(depth - 1)] });
  const tree = (depth: number) => ({ types, primaryType: "Node", domain: {}, message: nest(depth) });

  it("is read to the depth of 16 and no deeper", () => {
    // The root, the message and its list are three levels; each further value has two.
    expect(read(tree(6))).toMatch(/^0x/);
    expect(read(tree(7))).toMatch(/nested deeper than 16/);
  });
});

describe("typed data is refused for", () => {
  const text = JSON.stringify(MAIL);
  const TABLE: readonly (readonly [what: string, value: unknown, problem: RegExp])[] = [
    ["a member twice", text.replace('"contents":"Hello', '"contents":"Bye","contents":"Hello'), /same member twice/],
    [
      "a member twice, once escaped",
      text.replace('"primaryType"', '"primaryTyp\\u0065":"Mail","primaryType"'),
      /twice/,
    ],
    [
      "__proto__ beside the members",
      text.replace('"message":{', '"message":{"__proto__":{"x":1},'),
      /__proto__: unknown/,
    ],
    ["__proto__ at the root", text.replace("{", '{"__proto__":{},'), /__proto__: unknown/],
    ["__proto__ as a type with no definition", one("__proto__", "x"), /unknown type/],
    ["constructor as a type", one("constructor", "x"), /unknown type/],
    ["a byte-order mark", `\ufeff${text}`, /not a value/],
    ["text behind the value", `${text} {}`, /more text/],
    ["a comment", text.replace("{", "{/**/"), /no name/],
    ["a trailing comma", text.replace(/\}$/, ",}"), /no name/],
    ["half of a surrogate pair", text.replace("Bob!", "\\ud83d"), /surrogate/],
    ["the other half", text.replace("Bob!", "\\udc4d x"), /surrogate/],
    ["a control character", text.replace("Bob!", "\n"), /control character/],
    ["an unknown escape", text.replace("Bob!", "\\x41"), /escape/],
    ["an extra member at the root", { ...MAIL, extra: 1 }, /typedData\.extra: unknown/],
    ["no domain", { ...MAIL, domain: undefined }, /domain: missing/],
    ["an extra member in a struct", { ...MAIL, message: { ...MAIL.message, cc: "x" } }, /message\.cc: unknown/],
    ["a member missing in a struct", { ...MAIL, message: { contents: "x" } }, /missing/],
    ["null for a struct", { ...MAIL, message: { ...MAIL.message, from: null } }, /message\.from: not an object/],
    ["an unknown primary type", { ...MAIL, primaryType: "Nail" }, /primaryType/],
    ["the domain as primary type", { ...MAIL, primaryType: "EIP712Domain" }, /primaryType/],
    [
      "a type named like an atomic one",
      { ...one("uint256", 1, { uint256: [{ name: "a", type: "bool" }] }) },
      /types\.uint256/,
    ],
    ["a type named like an alias", one("uint", 1, { uint: [{ name: "a", type: "bool" }] }), /types\.uint/],
    ["a type with brackets in its name", one("A[]", [], { "A[]": [{ name: "a", type: "bool" }] }), /types/],
    ["a type without fields", one("A", {}, { A: [] }), /no field/],
    [
      "a field with a comma in its name",
      { ...one("bool", true), types: { T: [{ name: "x,bool y", type: "bool" }] } },
      /bad name/,
    ],
    ["a field with two blanks", { ...one("bool", true), types: { T: [{ name: "x  y", type: "bool" }] } }, /bad name/],
    ["a type with a blank", one("bool x,bool", true), /unknown type/],
    [
      "two fields of one name",
      {
        ...one("bool", true),
        types: {
          T: [
            { name: "x", type: "bool" },
            { name: "x", type: "bool" },
          ],
        },
      },
      /one name/,
    ],
    [
      "an extra member of a field",
      { ...one("bool", true), types: { T: [{ name: "x", type: "bool", indexed: true }] } },
      /indexed/,
    ],
    ["an unknown type in an unused struct", one("bool", true, { U: [{ name: "a", type: "float" }] }), /unknown type/],
    [
      "33 types",
      one(
        "bool",
        true,
        Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`A${i}`, [{ name: "a", type: "bool" }]])),
      ),
      /more than 32/,
    ],
    [
      "65 fields",
      one("A", {}, { A: Array.from({ length: 65 }, (_, i) => ({ name: `a${i}`, type: "bool" })) }),
      /more than 64/,
    ],
    ["a type of thousands of brackets", one(`bool${"[]".repeat(200)}`, []), /too long/],
    ["the alias uint", one("uint", 1), /unknown type/],
    ["uint7", one("uint7", 1), /unknown type/],
    ["uint264", one("uint264", 1), /unknown type/],
    ["uint08", one("uint08", 1), /unknown type/],
    ["bytes33", one("bytes33", "0x"), /unknown type/],
    ["bytes0", one("bytes0", "0x"), /unknown type/],
    ["a list of length 0 by type", one("bool[0]", []), /unknown type/],
    ["a list of another length", one("bool[2]", [true]), /list of 2/],
    ["no list", one("bool[]", true), /not a list/],
    ["a list for a value", one("bool", [true]), /not a value/],
    [
      "a fraction",
      '{"types":{"T":[{"name":"x","type":"uint8"}]},"primaryType":"T","domain":{},"message":{"x":1.0}}',
      /no integer/,
    ],
    [
      "an exponent",
      '{"types":{"T":[{"name":"x","type":"uint8"}]},"primaryType":"T","domain":{},"message":{"x":1e1}}',
      /no integer/,
    ],
    [
      "minus zero",
      '{"types":{"T":[{"name":"x","type":"int8"}]},"primaryType":"T","domain":{},"message":{"x":-0}}',
      /no integer/,
    ],
    [
      "a number with a leading zero",
      '{"types":{"T":[{"name":"x","type":"uint8"}]},"primaryType":"T","domain":{},"message":{"x":01}}',
      /no integer/,
    ],
    [
      "a number beyond the safe range",
      '{"types":{"T":[{"name":"x","type":"uint256"}]},"primaryType":"T","domain":{},"message":{"x":9007199254740992}}',
      /safe range/,
    ],
    ["an integer beyond its width", one("uint8", 256), /uint8/],
    ["a negative uint", one("uint8", "-1"), /uint8/],
    ["an int below its width", one("int8", -129), /int8/],
    ["a bit pattern for a negative int", one("int8", "0xff"), /int8/],
    ["2^256", one("uint256", String(1n << 256n)), /uint256/],
    ["an integer with a leading zero", one("uint8", "007"), /uint8/],
    ["an integer with a plus", one("uint8", "+7"), /uint8/],
    ["an integer with a blank", one("uint8", " 7"), /uint8/],
    ["an integer with a separator", one("uint256", "1_000"), /uint256/],
    ["an empty integer", one("uint8", ""), /uint8/],
    ["0x alone", one("uint8", "0x"), /uint8/],
    ["0X", one("uint8", "0X7"), /uint8/],
    ["a long integer", one("uint256", "0x".padEnd(4000, "0")), /uint256/],
    ["a truth value as text", one("bool", "true"), /bool/],
    ["a truth value as number", one("bool", 1), /bool/],
    ["an address without 0x", one("address", "11".repeat(20)), /address/],
    ["an address of 19 bytes", one("address", `0x${"11".repeat(19)}`), /address/],
    ["an address with a wrong checksum", one("address", "0xcD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826"), /address/],
    ["bytes of odd length", one("bytes", "0x123"), /bytes/],
    ["bytes4 of 5 bytes", one("bytes4", "0x1234567890"), /bytes4/],
    ["text for a number", one("string", 5), /string/],
    [
      "a domain field of another type",
      {
        ...MAIL,
        types: { ...MAIL.types, EIP712Domain: [{ name: "chainId", type: "uint64" }] },
        domain: { chainId: 1 },
      },
      /EIP712Domain/,
    ],
    [
      "domain fields out of order",
      { ...MAIL, types: { ...MAIL.types, EIP712Domain: [...DOMAIN_TYPE].reverse() } },
      /EIP712Domain/,
    ],
    [
      "a domain field twice",
      { ...MAIL, types: { ...MAIL.types, EIP712Domain: [DOMAIN_TYPE[0], ...DOMAIN_TYPE] } },
      /EIP712Domain/,
    ],
    [
      "an unknown domain field",
      { ...MAIL, types: { ...MAIL.types, EIP712Domain: [...DOMAIN_TYPE, { name: "x", type: "string" }] } },
      /EIP712Domain/,
    ],
    [
      "a domain member without its field",
      { ...MAIL, domain: { ...MAIL.domain, salt: `0x${"00".repeat(32)}` } },
      /domain\.salt: unknown/,
    ],
    ["a domain field without its member", { ...MAIL, domain: { name: "x", version: "1", chainId: 1 } }, /missing/],
    ["an unknown member of a derived domain", { ...one("bool", true), domain: { chainid: 1 } }, /domain\.chainid/],
    ["an empty version without the domain's type", { ...one("bool", true), domain: { version: "" } }, /two ways/],
    ["a chain id as text without the domain's type", { ...one("bool", true), domain: { chainId: "1" } }, /two ways/],
    ["nesting beyond 16", "[".repeat(17), /nested deeper/],
    ["nothing", "", /not a value/],
    ["null", "null", /typedData: not an object/],
  ];

  it.each(TABLE)("%s", (_, value, problem) => {
    const result = read(value);
    expect(result).toMatch(/^refused/);
    expect(result).toMatch(problem);
  });

  it("bytes that are not UTF-8, and surrogates encoded as such", () => {
    for (const bad of [[0xff], [0xed, 0xa0, 0x80], [0xc0, 0xaf]]) {
      const bytes = Uint8Array.from([...new TextEncoder().encode('{"a":"'), ...bad, 0x22, 0x7d]);
      expect(readTypedData(bytes)).toEqual({ ok: false, problem: "not valid UTF-8" });
    }
  });

  it("what it refuses without repeating a value", () => {
    expect(read(one("uint8", "secret-value"))).not.toContain("secret");
    expect(read(`{"types":"secret`)).not.toContain("secret");
  });
});

describe("integers of typed data", () => {
  it.each([
    ["uint8", "0xff", "255"],
    ["uint8", 255, "255"],
    ["uint256", "0x0001", "1"],
    ["int8", -128, "-128"],
    ["int256", String(-(1n << 255n)), String(-(1n << 255n))],
  ])("of %s written as %s are %s", (type, written, same) => {
    expect(read(one(type, written))).toBe(read(one(type, same)));
    expect(read(one(type, written))).toMatch(/^0x/);
  });

  it("end in a time that grows with the text, for many structs of one type", () => {
    const items = Array.from({ length: 2500 }, (_, index) => ({ a: index, b: "0x" }));
    const types = {
      P: [
        { name: "a", type: "uint256" },
        { name: "b", type: "bytes" },
      ],
    };
    expect(read(one("P[]", items, types))).toMatch(/^0x/);
  });
});
