import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { type TSchema, Type } from "@sinclair/typebox";
import { describe, expect, it } from "vitest";
import { closeReplySchema, closeRequestSchema } from "./close.js";
import { MAX_DECIMAL_CHARS, MAX_DECIMAL_PLACES, percentText, positiveDecimal, sizeText, symbolText } from "./common.js";
import { errorReplySchema } from "./errors.js";
import { ERROR_EXAMPLE, REPLY_EXAMPLES, REQUEST_EXAMPLES } from "./examples.js";
import { buildOpenApi } from "./openapi.js";
import type { Operation } from "./operation.js";
import { COMMON_ERRORS } from "./operation-errors.js";
import { OPERATIONS } from "./operations.js";
import { decimalProblem } from "./problems.js";
import { compileSerialiser } from "./serialise.js";
import { TICKER_SCHEMAS, tickerFailureSchema } from "./ticker.js";
import { compileValidator, createAjv, MAX_UNKNOWN_FIELDS, unknownFields } from "./validate.js";

const operations = Object.values<Operation>(OPERATIONS);
const jsonReplies = operations.flatMap((operation) =>
  typeof operation.reply === "string" ? [] : [{ operation, schema: operation.reply }],
);

/** An ajv that knows the schemas named by reference. */
function replyAjv() {
  const ajv = createAjv();
  for (const schema of [...TICKER_SCHEMAS, tickerFailureSchema]) ajv.addSchema(schema);
  return ajv;
}

describe("examples", () => {
  it.each(Object.entries(REPLY_EXAMPLES))("reply of %s is valid and survives its serialiser", (id, example) => {
    const reply = jsonReplies.find(({ operation }) => operation.id === id);
    if (reply === undefined) throw new Error(`no operation ${id}`);
    const validate = replyAjv().compile(reply.schema);
    expect(validate(example), JSON.stringify(validate.errors)).toBe(true);
    expect(JSON.parse(compileSerialiser<TSchema>(reply.schema)(example))).toEqual(example);
  });

  it.each(operations.filter(({ id }) => Object.hasOwn(REQUEST_EXAMPLES, id)))(
    "request of $id is valid",
    ({ id, body }) => {
      if (body === null) throw new Error(`${id} takes no body`);
      expect(compileValidator(body)(REQUEST_EXAMPLES[id])).toMatchObject({ ok: true });
    },
  );

  it("request and error are valid", () => {
    expect(compileValidator(closeRequestSchema)(REQUEST_EXAMPLES.positionClose)).toMatchObject({ ok: true });
    expect(compileValidator(errorReplySchema)(ERROR_EXAMPLE)).toMatchObject({ ok: true });
  });
});

describe("serialisers", () => {
  it("leave out what the schema does not list: the reply is an allow-list", () => {
    const example = structuredClone(REPLY_EXAMPLES.positionClose) as {
      data: { order: Record<string, unknown>; execution: Record<string, unknown> };
    };
    example.data.order.privateKey = "leak";
    example.data.execution.credentials = { venueone: "leak" };
    expect(compileSerialiser(closeReplySchema)(example as never)).not.toContain("leak");
  });

  it("write null for nullable objects and leave optional ones out", () => {
    const example = structuredClone(REPLY_EXAMPLES.positionClose) as { data: Record<string, unknown> };
    Object.assign(example.data, { executedOn: null, order: null, position: null });
    const text = compileSerialiser(closeReplySchema)(example as never);
    expect(JSON.parse(text)).toEqual(example);
    expect(text).not.toContain('"quote"');
  });
});

describe("request decimals", () => {
  const accepts = (schema: TSchema, text: unknown) => compileValidator(schema)(text).ok;

  it("agree with an independent reading of the rule, on any text", () => {
    const check = compileValidator(positiveDecimal());
    const digits = fc.stringMatching(/^[0-9]{0,24}$/);
    const near = fc
      .tuple(
        fc.constantFrom("", "-", "+", " "),
        digits,
        fc.constantFrom("", ".", ".."),
        digits,
        fc.constantFrom("", "e5", "\n", "x"),
      )
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(fc.oneof(near, fc.string()), (text) => {
        const [whole = "", fraction, ...more] = text.split(".");
        const plain =
          more.length === 0 &&
          /^[0-9]+$/.test(whole) &&
          (whole === "0" || !whole.startsWith("0")) &&
          (fraction === undefined || /^[0-9]+$/.test(fraction));
        const expected =
          plain &&
          !text.includes("\n") &&
          text.length <= MAX_DECIMAL_CHARS &&
          (fraction ?? "").length <= MAX_DECIMAL_PLACES &&
          /[1-9]/.test(text);
        expect(check(text).ok, JSON.stringify(text)).toBe(expected);
        if (!expected) expect(decimalProblem(text)).toMatch(/^must /);
      }),
      { numRuns: 2000, seed: 20_261_121 },
    );
  });

  it("ALL is a size and no price; percentages end at 100", () => {
    expect([
      accepts(sizeText(), "ALL"),
      accepts(positiveDecimal(), "ALL"),
      accepts(sizeText(), "ALLL"),
      accepts(sizeText(), "1ALL"),
    ]).toEqual([true, false, false, false]);
    expect(["0.0001", "1", "99.9999", "100", "100.0"].map((text) => accepts(percentText(), text))).toEqual([
      true,
      true,
      true,
      true,
      true,
    ]);
    expect(
      ["0", "0.0", "100.0001", "100.00000", "1.00001", "101", "0100"].map((text) => accepts(percentText(), text)),
    ).toEqual(Array(7).fill(false));
  });

  it.each(["BTC", "btc", "BTC-PERP", "BTC/USDT", "1000PEPE", "币安人生"])("%s is a symbol text", (text) => {
    expect(accepts(symbolText(), text)).toBe(true);
  });
});

describe("validators", () => {
  it("never change their input, and report at most a bounded number of problems", () => {
    const validate = compileValidator(closeRequestSchema);
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const before = JSON.stringify(value);
        const result = validate(value);
        expect(JSON.stringify(value)).toBe(before);
        if (!result.ok) {
          expect(result.problems.fields.length).toBeGreaterThan(0);
          expect(result.problems.fields.length).toBeLessThanOrEqual(32);
        }
      }),
      { seed: 7 },
    );
  });

  it("never repeat a value in a problem", () => {
    const validate = compileValidator(closeRequestSchema);
    const canary = "canary";
    const result = validate({
      symbol: [canary],
      direction: canary,
      size: canary,
      limitPrice: canary,
      sizePercent: canary,
      orderType: canary,
      clientOrderId: `${canary} é`,
      credentials: { venueone: { privateKey: 7 } },
      routingOptions: { waitFor: canary },
    });
    expect(JSON.stringify(result)).not.toContain(canary);
  });

  it("find unknown fields where the schema knows the object, bounded, own keys only", () => {
    const input: unknown = JSON.parse(
      '{"symbol":"BTC","__proto__":{"x":1},"a":1,"credentials":{"venueone":{"privateKey":"k","extra":1},"venuenine":{}},"routingOptions":null}',
    );
    expect(unknownFields(closeRequestSchema, input)).toEqual([
      "__proto__",
      "a",
      "credentials.venueone.extra",
      "credentials.venuenine",
    ]);
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`f${index}`, 1]));
    expect(unknownFields(closeRequestSchema, many)).toHaveLength(MAX_UNKNOWN_FIELDS);
  });
});

describe("the OpenAPI document", () => {
  const document = buildOpenApi();
  const text = JSON.stringify(document);

  it("is version 3.1 of interface 1.0.0, with every operation once", () => {
    expect([document.openapi, document.info.version]).toEqual(["3.1.0", "1.0.0"]);
    const ids = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).map((operation) => operation.operationId),
    );
    // A literal path hides the one for any venue: its methods are repeated there under names of their own.
    const own = ids.filter((id) => !String(id).includes("_"));
    expect(own.sort()).toEqual(operations.map((operation) => operation.id).sort());
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("resolves every reference inside itself", () => {
    for (const [, pointer] of text.matchAll(/"\$ref":"#\/([^"]+)"/g)) {
      const target = (pointer ?? "")
        .split("/")
        .reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], document);
      expect(target, pointer).toBeTypeOf("object");
    }
    expect(text).not.toMatch(/"\$ref":"(?!#\/)/);
    expect(text).not.toContain('"$id"');
  });

  it("declares exactly the parameters of each path, and documents the common errors everywhere", () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const operation of Object.values(methods)) {
        const parameters = operation.parameters as { name: string; in: string }[];
        const inPath = parameters.filter((parameter) => parameter.in === "path").map((parameter) => parameter.name);
        expect(inPath).toEqual([...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]));
        expect(Object.keys(operation.responses as object)).toEqual(
          expect.arrayContaining(["200", ...Object.keys(COMMON_ERRORS)]),
        );
      }
    }
  });

  it("holds only JSON Schema that compiles, examples included", () => {
    const ajv = new Ajv2020({ strict: false });
    ajv.addSchema(document, "doc");
    for (const name of Object.keys((document.components as { schemas: object }).schemas)) {
      expect(() => ajv.compile({ $ref: `doc#/components/schemas/${name}` })).not.toThrow();
    }
  });
});

describe("a schema that is compiled again", () => {
  it("gives the validator and the serialiser that are there, apart by what is printed here", () => {
    const schema = Type.Object({ size: Type.String({ "x-kind": "decimal" }) });
    const twin = Type.Object({ size: Type.String({ "x-kind": "decimal" }) }, { $id: "Twin" });
    const other = Type.Object({ size: Type.Number() }, { $id: "Twin" });
    expect(compileValidator(schema)).toBe(compileValidator(schema));
    expect([compileValidator(twin)({ size: "1" }).ok, compileValidator(other)({ size: "1" }).ok]).toEqual([
      true,
      false,
    ]);
    expect(compileSerialiser(schema)).toBe(compileSerialiser(schema));
    const own = compileSerialiser(schema, ["size"]);
    expect([own === compileSerialiser(schema), own({ size: '"' }), compileSerialiser(schema)({ size: '"' })]).toEqual([
      false,
      '{"size":"""}',
      String.raw`{"size":"\""}`,
    ]);
  });
});
