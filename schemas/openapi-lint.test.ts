/** What the linters of the trade ask of the document, so that it is asked with every test run. */
import { describe, expect, it } from "vitest";
import { buildAsyncApi } from "./asyncapi.js";
import { symbolText } from "./common.js";
import { buildOpenApi } from "./openapi.js";
import { coversPath } from "./operation.js";
import { compileValidator } from "./validate.js";

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly schema: { readonly enum?: readonly string[]; readonly pattern?: string };
}

const document = buildOpenApi();
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ name: `${method} ${path}`, operation })),
);

/** Returns every `pattern` of a JSON value, at any depth. */
function patternsOf(value: unknown): string[] {
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === "pattern" && typeof inner === "string" ? [inner] : patternsOf(inner),
  );
}

describe("the description as linters read it", () => {
  it("says of every operation how its caller is known, by schemes that it declares", () => {
    const { securitySchemes = {} } = document.components as { securitySchemes?: Record<string, object> };
    const used = new Set<string>();
    for (const { name, operation } of operations) {
      expect(operation["security"], name).toBeInstanceOf(Array);
      for (const ways of operation["security"] as Record<string, string[]>[])
        for (const scheme of Object.keys(ways)) used.add(scheme);
    }
    expect([...used].sort()).toEqual(Object.keys(securitySchemes).sort());
    const ways = (name: string) => operations.find((one) => one.name === name)?.operation["security"];
    // A required header, an optional one, and a route without identification.
    const signed = { apiKey: ["trade"], apiTimestamp: [], apiSignature: [] };
    const bySecret = { apiKey: ["trade"], apiSecret: [] };
    expect(ways("post /api/trading/venueone/orders")).toEqual([
      { walletId: [] },
      { ...signed, walletId: [] },
      { ...bySecret, walletId: [] },
    ]);
    const others = [{}, { venueCredentials: [] }, { walletId: [] }];
    expect(ways("post /api/trading/venuefour/orders")).toEqual(
      [{}, signed, bySecret].flatMap((key) => others.map((other) => ({ ...key, ...other }))),
    );
    expect(ways("get /api/trading/ticker/{symbol}")).toEqual([
      {},
      { ...signed, apiKey: [] },
      { ...bySecret, apiKey: [] },
    ]);
  });

  it.each([
    ["openapi", document],
    ["asyncapi", buildAsyncApi()],
  ])("writes %s patterns that read the same without the unicode flag", (_, described) => {
    const patterns = new Set(patternsOf(described));
    expect(patterns.size).toBeGreaterThan(5);
    for (const pattern of patterns) expect(pattern).not.toMatch(/\\[pPu]\{/);
    for (const pattern of patterns) for (const flags of ["", "u"]) new RegExp(pattern, flags);
  });

  it("writes the pattern of a symbol so that what is accepted fits it, and of ASCII nothing else", () => {
    const parameters = document.paths["/api/trading/ticker/{symbol}"]?.["get"]?.parameters as Parameter[];
    const { pattern = "" } = parameters[0]?.schema ?? {};
    const accepts = compileValidator(symbolText());
    const texts = ["BTC", "btc-perp", "BTC/USDT", "kPEPE", "币安人生", "𝒜𝒷", "Δ9", "", "-", "BTC-", "BTC--X", "A/币"];
    for (let code = 0; code < 0x80; code++) {
      const sign = String.fromCharCode(code);
      texts.push(sign, `${sign}X`, `X${sign}`, `X${sign}Y`);
    }
    for (const flags of ["", "u"])
      for (const text of texts)
        expect(new RegExp(pattern, flags).test(text), `${JSON.stringify(text)} ${flags}`).toBe(accepts(text).ok);
  });

  it("has no two paths that one request fits, unless one of them is the narrower", () => {
    // A linter sees two parameters; what they may be is what keeps the paths apart (`{exchange}` is no `ticker`).
    const fits = (path: string, name: string, value: string) => {
      const of = Object.values(document.paths[path] ?? {}).flatMap(({ parameters }) => parameters as Parameter[]);
      const words = of.find((one) => one.in === "path" && one.name === name)?.schema.enum;
      return words === undefined || words.includes(value);
    };
    const segmentFits = (path: string, part: string, other: string) =>
      part === other || (part.startsWith("{") && (other.startsWith("{") || fits(path, part.slice(1, -1), other)));
    const bothFit = (one: string, other: string) => {
      const [left, right] = [one.split("/"), other.split("/")];
      if (left.length !== right.length) return false;
      return left.every((part, index) => {
        const opposite = right[index] ?? "";
        return segmentFits(one, part, opposite) || segmentFits(other, opposite, part);
      });
    };
    expect(bothFit("/api/trading/{exchange}/ticker/{symbol}", "/api/trading/venueone/ticker/{symbol}")).toBe(true);
    const paths = Object.keys(document.paths);
    const ambiguous = paths.flatMap((one, index) =>
      paths
        .slice(index + 1)
        .filter((other) => bothFit(one, other) && !coversPath(one, other) && !coversPath(other, one))
        .map((other) => `${one} and ${other}`),
    );
    expect(ambiguous).toEqual([]);
  });

  it("names whom to ask, and says what each tag holds", () => {
    expect(document.info["contact"]).toMatchObject({ name: expect.stringMatching(/\w/) as string });
    const tags = document["tags"] as { name: string; description?: string }[];
    expect(tags.filter(({ description }) => description === undefined).map(({ name }) => name)).toEqual([]);
  });
});
