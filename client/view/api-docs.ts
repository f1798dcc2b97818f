/**
 * What the page at /docs shows of the two documents: operations by tag, frames by sender, and the fields of a schema.
 * Pure; it reads the served documents and assumes nothing about their shape except that they are JSON.
 */
export type Json = Readonly<Record<string, unknown>>;

export interface ParameterView {
  readonly name: string;
  readonly place: string;
  readonly isRequired: boolean;
  readonly type: string;
  readonly description: string;
}

export interface ContentView {
  readonly schema: Json | null;
  /** JSON text; null if the document has none. */
  readonly example: string | null;
}

export interface ReplyView extends ContentView {
  readonly status: string;
  readonly description: string;
}

export interface OperationView {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  /** Headers that identify its caller. */
  readonly access: string;
  readonly parameters: readonly ParameterView[];
  readonly body: ContentView | null;
  readonly replies: readonly ReplyView[];
}

export interface GroupView {
  readonly name: string;
  readonly description: string;
  readonly operations: readonly OperationView[];
}

export interface FrameView extends ContentView {
  readonly name: string;
  readonly sender: "you" | "the service";
  readonly summary: string;
}

export interface FieldView {
  readonly name: string;
  readonly isRequired: boolean;
  readonly type: string;
  readonly description: string;
  /** Schema of the content; null if there is none. */
  readonly schema: Json | null;
}

/** Most references that are followed one after the other. */
const HOPS_MAX = 8;

export function groupsOf(document: Json): readonly GroupView[] {
  const operations = Object.entries(object(document["paths"])).flatMap(([path, methods]) =>
    Object.entries(object(methods)).map(([method, operation]) =>
      operationView(document, path, method, object(operation)),
    ),
  );
  return list(document["tags"]).map((tag) => {
    const name = text(object(tag)["name"]);
    return {
      name,
      description: text(object(tag)["description"]),
      operations: operations.filter(({ tags }) => tags.includes(name)).map(({ view }) => view),
    };
  });
}

function operationView(document: Json, path: string, method: string, operation: Json) {
  const body = operation["requestBody"];
  const view: OperationView = {
    id: text(operation["operationId"]),
    method: method.toUpperCase(),
    path,
    summary: text(operation["summary"]),
    description: text(operation["description"]),
    access: accessText(document, list(operation["security"])),
    parameters: list(operation["parameters"]).map((one) => parameterView(document, object(one))),
    body: body === undefined ? null : contentView(object(body)),
    replies: Object.entries(object(operation["responses"])).map(([status, reply]) => ({
      status,
      description: text(object(reply)["description"]),
      ...contentView(object(reply)),
    })),
  };
  return { tags: list(operation["tags"]).map(text), view };
}

function parameterView(document: Json, parameter: Json): ParameterView {
  const schema = object(parameter["schema"]);
  return {
    name: text(parameter["name"]),
    place: text(parameter["in"]),
    isRequired: parameter["required"] === true,
    type: typeText(document, schema),
    description: text(parameter["description"]) || text(schema["description"]),
  };
}

/** The first media type: JSON where there is one. */
function contentView(holder: Json): ContentView {
  const content = object(Object.values(object(holder["content"]))[0]);
  return { schema: objectOrNull(content["schema"]), example: exampleText(content["example"]) };
}

function accessText(document: Json, ways: readonly unknown[]): string {
  const schemes = object(object(document["components"])["securitySchemes"]);
  const names = ways.map((way) =>
    Object.keys(object(way))
      .map((scheme) => text(object(schemes[scheme])["name"]))
      .join(" with "),
  );
  const named = names.filter((name) => name !== "");
  if (named.length === 0) return "no header needed";
  const none =
    named.length < names.length ? "; none in public mode, or where the description or a body makes it needless" : "";
  return `${named.join(", or ")}${none}`;
}

export function framesOf(document: Json): readonly FrameView[] {
  const operations = Object.values(object(document["operations"])).map(object);
  // `receive` is what the service receives; its replies go the other way.
  const received = new Set(
    operations
      .filter(({ action }) => action === "receive")
      .flatMap(({ messages }) => list(messages).map((message) => nameOf(object(message)))),
  );
  return Object.entries(object(object(document["components"])["messages"])).map(([name, value]) => {
    const message = object(value);
    const [example] = list(message["examples"]);
    return {
      name,
      sender: received.has(name) ? "you" : "the service",
      summary: text(message["summary"]) || text(resolve(document, object(message["payload"]))["description"]),
      schema: objectOrNull(message["payload"]),
      example: exampleText(object(example)["payload"]),
    };
  });
}

function nameOf(reference: Json): string {
  return text(reference["$ref"]).split("/").at(-1) ?? "";
}

/** Reports whether all words of `query` occur somewhere in it, in any case and order. */
export function matches(operation: OperationView, query: string): boolean {
  const { id, method, path, summary, description, replies } = operation;
  const words = [id, method, path, summary, description, ...replies.map((reply) => reply.description)].join(" ");
  const haystack = words.toLowerCase();
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => haystack.includes(word));
}

/** Returns the schema that a reference points to; {} where it leads nowhere. */
export function resolve(document: Json, schema: Json): Json {
  let found = schema;
  for (let hop = 0; hop < HOPS_MAX; hop++) {
    const reference = found["$ref"];
    if (typeof reference !== "string") return found;
    if (!reference.startsWith("#/")) return {};
    found = object(
      reference
        .slice(2)
        .split("/")
        .reduce<unknown>((value, key) => object(value)[key.replaceAll("~1", "/").replaceAll("~0", "~")], document),
    );
  }
  return {};
}

/** The fields of an object, of the items of a list, or of all forms that it can have. */
export function fieldsOf(document: Json, schema: Json | null): readonly FieldView[] {
  if (schema === null) return [];
  const found = resolve(document, schema);
  const { items } = found;
  const forms = formsOf(found);
  if (forms.length > 0) return forms.flatMap((form) => fieldsOf(document, object(form)));
  if (items !== undefined) return fieldsOf(document, object(items));
  const required = list(found["required"]);
  return Object.entries(object(found["properties"])).map(([name, value]) => {
    const inner = object(value);
    const meant = resolve(document, inner);
    return {
      name,
      isRequired: required.includes(name),
      type: typeText(document, inner),
      description: text(inner["description"]) || text(meant["description"]),
      schema: fieldsOf(document, inner).length > 0 ? inner : null,
    };
  });
}

function formsOf(schema: Json): readonly unknown[] {
  return [...list(schema["anyOf"]), ...list(schema["oneOf"]), ...list(schema["allOf"])];
}

export function typeText(document: Json, schema: Json): string {
  const found = resolve(document, schema);
  if ("const" in found) return String(found["const"]);
  const words = list(found["enum"]);
  if (words.length > 0) return words.map(String).join(", ");
  const forms = formsOf(found);
  if (forms.length > 0) return [...new Set(forms.map((form) => typeText(document, object(form))))].join(" or ");
  const { type, items } = found;
  if (Array.isArray(type)) return type.map(String).join(" or ");
  if (type === "array") return `list of ${typeText(document, object(items))}`;
  return typeof type === "string" ? type : "any";
}

function exampleText(example: unknown): string | null {
  return example === undefined ? null : JSON.stringify(example, null, 2);
}

function object(value: unknown): Json {
  return objectOrNull(value) ?? {};
}

function objectOrNull(value: unknown): Json | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : null;
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
