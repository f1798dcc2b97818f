/**
 * The OpenAPI 3.1 document, built from the operations table and the schemas that also validate and
 * serialise; nothing in it is written a second time.
 */
import type { TSchema } from "@sinclair/typebox";
import { VENUE_WORDS } from "./common.js";
import { errorReplySchema } from "./errors.js";
import { ERROR_EXAMPLE, REPLY_EXAMPLES, REQUEST_EXAMPLES } from "./examples.js";
import { type Operation, refusesUnknownFields } from "./operation.js";
import { OPERATION_NOTES, type OperationNote } from "./operation-notes.js";
import { scopeText, SECURITY_SCHEMES, securityOf } from "./openapi-security.js";
import { errorsOf } from "./operation-errors.js";
import { OPERATIONS } from "./operations.js";
import { TICKER_SCHEMAS, tickerFailureSchema } from "./ticker.js";

/** Interface spec section 9. */
export const INTERFACE_VERSION = "1.0.0";

type Json = Readonly<Record<string, unknown>>;

const TAGS: readonly { readonly name: Operation["tag"]; readonly description: string }[] = [
  { name: "trade", description: "Exits and entries at the best venue, what became of them, and the kill switch." },
  { name: "orders", description: "Orders, closes, settings and dead-man's switches of one venue." },
  { name: "account", description: "Positions, balances, orders and histories of an account, read at its venues." },
  {
    name: "wallets",
    description:
      "Server wallets, whose keys no single process holds. They exist where the operator configured a wallet provider.",
  },
  { name: "market data", description: "Tickers, books and instruments; no account is needed." },
  {
    name: "history",
    description: "What this service recorded: market data for everyone, its own trades for the owner who made them.",
  },
  { name: "service", description: "Health, limits, time, metrics and these documents." },
];

export interface OpenApiDocument extends Json {
  readonly openapi: string;
  readonly info: Json;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  readonly components: Json;
}

const DESCRIPTION = `Closes perpetual-futures positions at the best all-in exit over several venues.

Every reply has \`success\`; every error has \`error\`, \`code\`, \`details\`, \`requestId\` and \`timestamp\`. Money, prices and sizes
are decimal strings, times Unix ms. Every GET route answers HEAD, every route OPTIONS. A request pipelined behind a close that
has no reply yet ends the connection; the close goes on and its Idempotency-Key returns the reply.`;

/** `isStrict`: bodies of operations that send something are printed closed, as unknown fields are refused there. */
export function buildOpenApi(isStrict = true): OpenApiDocument {
  const schemas: Record<string, unknown> = {};
  for (const schema of [errorReplySchema, ...TICKER_SCHEMAS, tickerFailureSchema]) component(schema, schemas);
  const paths: Record<string, Record<string, Json>> = {};
  for (const operation of Object.values<Operation>(OPERATIONS)) {
    paths[operation.path] ??= {};
    (paths[operation.path] as Record<string, Json>)[operation.method.toLowerCase()] = operationObject(
      operation,
      schemas,
      isStrict,
    );
  }
  repeatForVenues(paths, schemas, isStrict);
  return {
    openapi: "3.1.0",
    info: {
      title: "unwind",
      version: INTERFACE_VERSION,
      description: DESCRIPTION,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      contact: { name: "The operator of this service" },
    },
    servers: [{ url: "/" }],
    tags: TAGS,
    paths,
    components: { schemas, headers: HEADERS, securitySchemes: SECURITY_SCHEMES },
  };
}

/**
 * A path that names its venue hides, for readers of this document, the one for any venue: its methods are repeated
 * there.
 */
function repeatForVenues(
  paths: Record<string, Record<string, Json>>,
  schemas: Record<string, unknown>,
  isStrict: boolean,
): void {
  for (const operation of Object.values<Operation>(OPERATIONS)) {
    const { exchange, ...pathParameters } = operation.pathParameters;
    if (exchange === undefined) continue;
    for (const venue of VENUE_WORDS) {
      const path = operation.path.replace("{exchange}", venue);
      const methods = paths[path];
      const method = operation.method.toLowerCase();
      if (methods === undefined || methods[method] !== undefined) continue;
      methods[method] = operationObject(
        { ...operation, id: `${operation.id}_${venue}`, path, pathParameters },
        schemas,
        isStrict,
      );
    }
  }
}

const NOTES: Readonly<Record<keyof typeof OPERATIONS, OperationNote>> = OPERATION_NOTES;

/** Methods repeated for a venue have the note of the one for any. */
function noteOf({ id }: Operation): OperationNote {
  const name = id.replace(/_\w+$/, "") as keyof typeof OPERATIONS;
  return NOTES[name];
}

const HEADERS: Json = {
  "X-Request-Id": { description: "Names this reply in logs.", schema: { type: "string" } },
  "RateLimit-Policy": { description: 'Buckets touched: `"read";q=<limit>;w=<seconds>`.', schema: { type: "string" } },
  RateLimit: {
    description: 'What is left: `"read";r=<requests>;t=<seconds to the next>`.',
    schema: { type: "string" },
  },
  "Retry-After": { description: "Whole seconds.", schema: { type: "string", pattern: "^[0-9]+$" } },
  "X-Ignored-Fields": { description: "Body fields that were not known, comma-separated.", schema: { type: "string" } },
  "X-Next-Cursor": {
    description: "Of an export that is not the end of its range: the `cursor` of the next one.",
    schema: { type: "string" },
  },
  Deprecation: {
    description: "true: the request carried X-API-SECRET. `Link` names the page that says what to send instead.",
    schema: { type: "string", enum: ["true"] },
  },
  "Idempotent-Replayed": {
    description: "true: the stored reply of an earlier request.",
    schema: { type: "string", enum: ["true"] },
  },
};

function operationObject(operation: Operation, schemas: Record<string, unknown>, isStrict: boolean): Json {
  const isClosed = isStrict && refusesUnknownFields(operation);
  const responses: Record<string, Json> = { "200": okResponse(operation, schemas) };
  const { description, refusals } = noteOf(operation);
  for (const [status, common] of Object.entries({ ...refusals, ...errorsOf(operation) })) {
    const own = refusals[Number(status)];
    responses[status] = errorResponse(
      Number(status),
      own === undefined || own === common ? common : `${own} ${common}`,
    );
  }
  const example = REQUEST_EXAMPLES[operation.id];
  return {
    operationId: operation.id,
    summary: operation.summary,
    description: `${description} ${scopeText(operation)}`,
    tags: [operation.tag],
    security: securityOf(operation),
    parameters: parameters(operation),
    ...(operation.body === null
      ? {}
      : {
          requestBody: {
            required: operation.bodyOptional !== true,
            content: {
              "application/json": {
                schema: component(isClosed ? closed(operation.body) : operation.body, schemas),
                ...(example === undefined ? {} : { example }),
              },
            },
          },
        }),
    responses,
    "x-access": operation.access,
    "x-rate-limit": { buckets: operation.buckets, weight: operation.weight },
  };
}

function parameters(operation: Operation): Json[] {
  const query = operation.query as { properties?: Record<string, TSchema>; required?: readonly string[] } | null;
  return [
    ...Object.entries(operation.pathParameters).map(([name, schema]) => ({
      name,
      in: "path",
      required: true,
      schema: plain(schema),
    })),
    ...Object.entries(query?.properties ?? {}).map(([name, schema]) => ({
      name,
      in: "query",
      required: query?.required?.includes(name) ?? false,
      schema: plain(schema),
    })),
    ...operation.headers.map((header) => ({
      name: header.name,
      in: "header",
      required: header.required ?? false,
      description: header.description,
      schema: plain(header.schema),
    })),
  ];
}

/** Returns the same schema with every object in it closed: fields that it does not name are refused. */
function closed<S extends TSchema>(schema: S): S {
  const copy: Record<string, unknown> = { ...schema };
  const { properties, items } = schema as { properties?: Record<string, TSchema>; items?: TSchema };
  if (properties !== undefined) {
    copy["properties"] = Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, closed(inner)]));
    copy["additionalProperties"] = false;
  }
  if (items !== undefined) copy["items"] = closed(items);
  return copy as S;
}

const EXPORT_NOTE =
  "The same fields as the rows of the JSON form, one row per line. CSV: RFC 4180 with a header; an absent value is an empty field; text that a spreadsheet could take for a formula, or that begins with an apostrophe, has an apostrophe before it. A connection that ends without the last chunk means that rows are missing.";

function okResponse(operation: Operation, schemas: Record<string, unknown>): Json {
  const headers = ["X-Request-Id", "RateLimit-Policy", "RateLimit", "Deprecation"];
  if (operation.body !== null) headers.push("X-Ignored-Fields", "Idempotent-Replayed");
  if (operation.exports !== undefined) headers.push("X-Next-Cursor");
  const example = REPLY_EXAMPLES[operation.id];
  const content =
    operation.reply === "text/plain"
      ? { "text/plain": { schema: { type: "string" } } }
      : {
          "application/json": {
            schema: replySchema(operation, schemas),
            ...(example === undefined ? {} : { example }),
          },
          ...Object.fromEntries(
            (operation.exports ?? []).map((type) => [type, { schema: { type: "string", description: EXPORT_NOTE } }]),
          ),
        };
  return { description: operation.summary, headers: headerRefs(headers), content };
}

function replySchema({ reply, refusedReply }: Operation, schemas: Record<string, unknown>): Json {
  if (typeof reply === "string") return { type: "object" };
  const done = component(reply, schemas);
  return refusedReply === undefined ? done : { oneOf: [done, component(refusedReply, schemas)] };
}

function errorResponse(status: number, description: string): Json {
  const headers = ["X-Request-Id"];
  if (status === 202 || status === 429 || status === 503) headers.push("Retry-After");
  if (status === 429) headers.push("RateLimit-Policy", "RateLimit");
  return {
    description,
    headers: headerRefs(headers),
    content: {
      "application/json": {
        schema: { $ref: "#/components/schemas/ErrorReply" },
        ...(status === 400 ? { example: ERROR_EXAMPLE } : {}),
      },
    },
  };
}

function headerRefs(names: readonly string[]): Json {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Registers a named schema as a component and returns the reference; unnamed ones are printed in place. */
export function component(schema: TSchema, schemas: Record<string, unknown>): Json {
  const name = schema.$id;
  if (name === undefined) return plain(schema);
  schemas[name] ??= plain(schema);
  return { $ref: `#/components/schemas/${name}` };
}

/**
 * Letters and digits of any script, as the validator knows them, and as a reader without the unicode flag can: those of
 * ASCII and everything that is not ASCII. Both in the form that they have within JSON text.
 */
const UNICODE_CLASS = JSON.stringify("[\\p{L}\\p{N}]").slice(1, -1);
const PORTABLE_CLASS = JSON.stringify("[^\\x00-/:-@\\[-`{-\\x7f]").slice(1, -1);

/** JSON copy without `$id`, references rewritten to components, patterns in their portable form. */
function plain(schema: TSchema): Json {
  const text = JSON.stringify({ ...schema, $id: undefined }, (key, value: unknown) =>
    key === "$ref" && typeof value === "string" ? `#/components/schemas/${value.replace(/#$/, "")}` : value,
  );
  return JSON.parse(text.replaceAll(UNICODE_CLASS, PORTABLE_CLASS)) as Json;
}
