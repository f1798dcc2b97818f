/**
 * JSON text → typed data, so strictly that no other reader can take the same bytes for something else (docs/mpc.md
 * section 12). What is refused is named by its place in the text, never by its value.
 */
import { readAddress, readHex } from "./bytes.js";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue, parseStrictJson } from "./strict-json.js";
import {
  type AtomicType,
  arrayType,
  atomicType,
  baseType,
  DOMAIN_FIELDS,
  DOMAIN_TYPE,
  type FieldTypes,
  isFieldName,
  isStructName,
  type TypedData,
  type TypedDomain,
  type TypedField,
  type TypedStruct,
  type TypedValue,
} from "./typed-data-types.js";

export const MAX_TYPED_DATA_DEPTH = 16;
const MAX_TYPES = 32;
const MAX_FIELDS = 64;
/** Of an integer's text: 2^256 has 78 decimal digits, and int256 a sign. */
const MAX_INTEGER_CHARS = 80;
/** Of the path in a problem: names are the caller's. */
const MAX_PATH_CHARS = 120;
/** Of a field's type: a name and as many brackets as the depth allows. Without it brackets would cost time by their square. */
const MAX_TYPE_CHARS = 256;
const ROOT_MEMBERS = ["types", "primaryType", "domain", "message"] as const;

export type ReadTypedData =
  | { readonly ok: true; readonly typed: TypedData }
  | { readonly ok: false; readonly problem: string };

export function readTypedData(json: Uint8Array): ReadTypedData {
  const parsed = parseStrictJson(json, MAX_TYPED_DATA_DEPTH);
  if (!parsed.ok) return parsed;
  try {
    return { ok: true, typed: typedDataOf(parsed.value) };
  } catch (error) {
    if (error instanceof Unreadable) return { ok: false, problem: error.message };
    throw error;
  }
}

class Unreadable extends Error {
  override readonly name = "Unreadable";

  constructor(path: string, problem: string) {
    super(`${path.slice(0, MAX_PATH_CHARS)}: ${problem}`);
  }
}

function typedDataOf(root: JsonValue): TypedData {
  const members = exactMembers(root, "typedData", ROOT_MEMBERS);
  const primaryType = members.get("primaryType");
  const domainJson = members.get("domain");
  if (!isJsonObject(domainJson)) throw new Unreadable("domain", "not an object");
  const { types, domainFields } = readTypes(members.get("types"), domainJson);
  if (typeof primaryType !== "string" || !types.has(primaryType))
    throw new Unreadable("primaryType", "not the name of a type in types");
  const reader = new ValueReader(types);
  return {
    domain: domainOf(reader.struct(domainFields, domainJson, "domain")),
    types,
    primaryType,
    message: reader.value(primaryType, members.get("message"), "message") as TypedStruct,
  };
}

/**
 * viem and others look a type up by the word at the beginning of its name, so `A:B` and `A$` are `A` to them: they leave
 * out the structs that such a type uses, leave it out where it is used, and put a type `A` in. Such a name is taken where
 * none of that matters.
 */
function readTypes(
  value: JsonValue | undefined,
  domain: JsonObject,
): { types: FieldTypes; domainFields: readonly TypedField[] } {
  if (!isJsonObject(value)) throw new Unreadable("types", "not an object");
  if (value.size > MAX_TYPES) throw new Unreadable("types", `more than ${MAX_TYPES}`);
  const types = new Map<string, readonly TypedField[]>();
  let domainFields: readonly TypedField[] = value.has(DOMAIN_TYPE) ? [] : derivedDomainFields(domain);
  for (const [name, fields] of value) {
    if (name === DOMAIN_TYPE) domainFields = readDomainFields(fields);
    else types.set(name, readFields(name, fields));
  }
  const users = new Set<string>();
  const used = new Set<string>();
  for (const [name, fields] of types)
    for (const field of fields) {
      const base = baseType(field.type);
      if (types.has(base)) {
        users.add(name);
        used.add(base);
      } else if (atomicType(base) === null) throw new Unreadable(`types.${name}`, "a field of unknown type");
    }
  for (const name of types.keys()) {
    const word = /^\w*/.exec(name)?.[0] ?? "";
    const isAlone = !users.has(name) && !used.has(name) && !types.has(word) && word !== DOMAIN_TYPE;
    if (word !== name && !isAlone) throw new Unreadable(`types.${name}`, "a name that others cut");
  }
  return { types, domainFields };
}

function readFields(name: string, value: JsonValue): readonly TypedField[] {
  const path = `types.${name}`;
  if (!isStructName(name)) throw new Unreadable(path, "not a name that a type may have");
  const fields = readFieldList(path, value);
  if (fields.length === 0) throw new Unreadable(path, "has no field");
  if (fields.some((field) => !isFieldName(field.name))) throw new Unreadable(path, "a field has a bad name");
  if (new Set(fields.map((field) => field.name)).size < fields.length)
    throw new Unreadable(path, "two fields have one name");
  return fields;
}

/**
 * Many callers leave the domain's type out; then the members say which fields it has. Libraries differ in whether they
 * count an empty version and a chain id that is text: with those the type must be written out.
 */
function derivedDomainFields(domain: JsonObject): readonly TypedField[] {
  const chainId = domain.get("chainId");
  if (domain.get("version") === "" || (chainId !== undefined && typeof chainId !== "number"))
    throw new Unreadable("domain", `can be read in two ways without types.${DOMAIN_TYPE}`);
  return DOMAIN_FIELDS.filter((field) => domain.has(field.name));
}

/** The known fields alone, each at most once, in the order of the standard. */
function readDomainFields(value: JsonValue): readonly TypedField[] {
  const path = `types.${DOMAIN_TYPE}`;
  let next = 0;
  const fields = readFieldList(path, value);
  for (const field of fields) {
    const index = DOMAIN_FIELDS.findIndex((known) => known.name === field.name && known.type === field.type);
    if (index < next) throw new Unreadable(path, "not the fields of the standard in their order");
    next = index + 1;
  }
  return fields;
}

function readFieldList(path: string, value: JsonValue): readonly TypedField[] {
  if (!isJsonArray(value)) throw new Unreadable(path, "not a list of fields");
  if (value.length > MAX_FIELDS) throw new Unreadable(path, `more than ${MAX_FIELDS} fields`);
  return value.map((item, index) => {
    const members = exactMembers(item, `${path}[${index}]`, ["name", "type"]);
    const name = members.get("name");
    const type = members.get("type");
    if (typeof name !== "string" || typeof type !== "string") throw new Unreadable(path, "a name or type is no text");
    if (type.length > MAX_TYPE_CHARS) throw new Unreadable(path, "a type is too long");
    return { name, type };
  });
}

function exactMembers(value: JsonValue | undefined, path: string, names: readonly string[]): JsonObject {
  if (!isJsonObject(value)) throw new Unreadable(path, "not an object");
  for (const name of value.keys()) if (!names.includes(name)) throw new Unreadable(`${path}.${name}`, "unknown member");
  for (const name of names) if (!value.has(name)) throw new Unreadable(`${path}.${name}`, "missing");
  return value;
}

class ValueReader {
  readonly #types: FieldTypes;

  constructor(types: FieldTypes) {
    this.#types = types;
  }

  struct(fields: readonly TypedField[], value: JsonValue | undefined, path: string): TypedStruct {
    const members = exactMembers(
      value,
      path,
      fields.map((field) => field.name),
    );
    return new Map(
      fields.map((field) => [field.name, this.value(field.type, members.get(field.name), `${path}.${field.name}`)]),
    );
  }

  /** Types may refer to themselves: the depth of the text bounds the recursion. */
  value(type: string, value: JsonValue | undefined, path: string): TypedValue {
    const array = arrayType(type);
    if (array !== null) {
      if (!isJsonArray(value)) throw new Unreadable(path, "not a list");
      if (array.length !== null && array.length !== value.length)
        throw new Unreadable(path, `not a list of ${array.length}`);
      return value.map((item, index) => this.value(array.item, item, `${path}[${index}]`));
    }
    const fields = this.#types.get(type);
    if (fields !== undefined) return this.struct(fields, value, path);
    const atomic = atomicType(type);
    const atom = atomic === null ? null : readAtom(atomic, value);
    if (atom === null) throw new Unreadable(path, `not a value of the type ${type}`);
    return atom;
  }
}

function readAtom(type: AtomicType, value: JsonValue | undefined): TypedValue | null {
  if (type.kind === "bool") return typeof value === "boolean" ? value : null;
  if (type.kind === "uint" || type.kind === "int") return readInteger(type.kind, type.bits, value);
  if (typeof value !== "string") return null;
  if (type.kind === "string") return value;
  if (type.kind === "address") return readAddress(value);
  const bytes = readHex(value);
  return type.kind === "fixedBytes" && bytes?.length !== type.length ? null : bytes;
}

/**
 * A hex text is the number that it writes, never a pattern of bits: `0xff` is no int8. Leading zeros of decimal text
 * are refused: some read it as octal.
 */
function readInteger(kind: "uint" | "int", bits: number, value: JsonValue | undefined): bigint | null {
  if (typeof value !== "number" && typeof value !== "string") return null;
  const text = String(value);
  if (text.length > MAX_INTEGER_CHARS || !/^(?:0|-?[1-9][0-9]*|0x[0-9a-fA-F]+)$/.test(text)) return null;
  const integer = BigInt(text);
  const fitted = kind === "uint" ? BigInt.asUintN(bits, integer) : BigInt.asIntN(bits, integer);
  return fitted === integer ? integer : null;
}

function domainOf(values: TypedStruct): TypedDomain {
  return Object.fromEntries(values) as TypedDomain;
}
