/** The contract of an outside signer, as its maker and a linter read it. */
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { buildSignerContract } from "./signer-openapi.js";

const document = buildSignerContract();
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ name: `${method} ${path}`, operation })),
);

interface Media {
  readonly schema: object;
  readonly example?: unknown;
}
type Holder = { readonly content?: Readonly<Record<string, Media>> };

function mediaOf(operation: Readonly<Record<string, unknown>>): Media[] {
  const responses = Object.values(operation["responses"] as Readonly<Record<string, Holder>>);
  const holders = [operation["requestBody"] as Holder | undefined, ...responses];
  return holders.flatMap((holder) => Object.values(holder?.content ?? {}));
}

function patternsOf(value: unknown): string[] {
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === "pattern" && typeof inner === "string" ? [inner] : patternsOf(inner),
  );
}

describe("the contract of an outside signer", () => {
  it("names each call that the service makes, and no other", () => {
    expect(operations.map(({ name }) => name)).toEqual([
      "post /wallets",
      "post /signatures",
      "get /requests/{requestId}",
      "get /health",
    ]);
    for (const { operation } of operations) expect(operation["security"]).toEqual([{ bearer: [] }]);
  });

  it("has schemas that compile, and examples that are valid", () => {
    const ajv = new Ajv2020({ strict: false, allErrors: true });
    ajv.addSchema(document, "contract");
    let examples = 0;
    for (const { name, operation } of operations)
      for (const { schema, example } of mediaOf(operation)) {
        const text = JSON.stringify(schema).replaceAll('"#/components/', '"contract#/components/');
        const check = ajv.compile(JSON.parse(text) as object);
        if (example === undefined) continue;
        expect(check(example), `${name} ${JSON.stringify(check.errors)}`).toBe(true);
        examples++;
      }
    expect(examples).toBeGreaterThan(5);
  });

  it("has patterns that read the same with and without the unicode flag", () => {
    const patterns = new Set(patternsOf(document));
    expect(patterns.size).toBeGreaterThan(5);
    for (const pattern of patterns) for (const flags of ["", "u"]) new RegExp(pattern, flags);
    for (const pattern of patterns) expect(pattern).not.toMatch(/\\[pPu]\{/);
  });
});
