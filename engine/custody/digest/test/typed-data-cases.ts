/** Random typed data as a caller would send it, in a form that other programs take too. */
import fc from "fast-check";

export interface TypedDataJson {
  readonly domain: Readonly<Record<string, unknown>>;
  readonly types: Readonly<Record<string, readonly { name: string; type: string }[]>>;
  readonly primaryType: string;
  readonly message: Readonly<Record<string, unknown>>;
}

export function jsonBytes(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

export const hex = (length: number) =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((bytes) => `0x${Buffer.from(bytes).toString("hex")}`);

const ATOMS = ["address", "bool", "string", "bytes", "bytes1", "bytes4", "bytes31", "bytes32"] as const;
const integerType = fc
  .tuple(fc.constantFrom("uint", "int"), fc.integer({ min: 1, max: 32 }))
  .map(([kind, bytes]) => `${kind}${8 * bytes}`);
const atomType = fc.oneof(fc.constantFrom(...ATOMS), integerType);
const brackets = fc.constantFrom("", "", "", "[]", "[2]", "[][2]", "[3][]");

/** Structs refer to later ones only, so every value ends. */
const structNames = ["Root", "Mail", "Person", "Asset2", "_x"] as const;

const typesArb = fc
  .array(fc.array(fc.tuple(fc.oneof(atomType, fc.constant("struct")), brackets), { minLength: 1, maxLength: 5 }), {
    minLength: 1,
    maxLength: structNames.length,
  })
  .map((structs) =>
    Object.fromEntries(
      structs.map((fields, index) => [
        structNames[index] ?? "",
        fields.map(([type, suffix], field) => {
          const next = structNames[index + 1 + (field % 2)];
          const isKnown = next !== undefined && index + 1 + (field % 2) < structs.length;
          return { name: `f${field}`, type: `${type === "struct" ? (isKnown ? next : "uint256") : type}${suffix}` };
        }),
      ]),
    ),
  );

type Types = Readonly<Record<string, readonly { name: string; type: string }[]>>;

function valueArb(types: Types, type: string): fc.Arbitrary<unknown> {
  const array = /^(.*)\[(\d*)\]$/.exec(type);
  if (array?.[1] !== undefined) {
    const length = array[2] === "" ? {} : { minLength: Number(array[2]), maxLength: Number(array[2]) };
    return fc.array(valueArb(types, array[1]), { maxLength: 2, ...length });
  }
  const fields = types[type];
  if (fields !== undefined)
    return fc.record(Object.fromEntries(fields.map((field) => [field.name, valueArb(types, field.type)])));
  if (type === "address") return hex(20);
  if (type === "bool") return fc.boolean();
  if (type === "string") return fc.string({ unit: "binary", maxLength: 12 });
  if (type === "bytes") return fc.nat({ max: 40 }).chain(hex);
  const fixed = /^bytes(\d+)$/.exec(type);
  if (fixed !== null) return hex(Number(fixed[1]));
  const bits = BigInt(/\d+$/.exec(type)?.[0] ?? 0);
  const [min, max] = type.startsWith("u") ? [0n, (1n << bits) - 1n] : [-(1n << (bits - 1n)), (1n << (bits - 1n)) - 1n];
  return fc
    .bigInt({ min, max })
    .map((value) => (value % 3n === 0n && value >= 0n ? `0x${value.toString(16)}` : String(value)));
}

const DOMAIN = {
  name: fc.string({ maxLength: 8 }),
  // Libraries disagree about an empty one when the domain's type is left out.
  version: fc.string({ minLength: 1, maxLength: 3 }),
  chainId: fc.nat({ max: 100_000 }),
  verifyingContract: hex(20),
  salt: hex(32),
};

export const typedDataArb: fc.Arbitrary<TypedDataJson> = typesArb.chain((types) =>
  fc.record({
    domain: fc.record(DOMAIN, { requiredKeys: [] }),
    types: fc.constant(types),
    primaryType: fc.constant("Root"),
    message: valueArb(types, "Root") as fc.Arbitrary<Record<string, unknown>>,
  }),
);
