import { describe, expect, it } from "vitest";
import { ServiceError } from "../../engine/domain/errors.js";
import type { Scope } from "../../schemas/operation.js";
import { ANONYMOUS_CALLER, type Caller, PUBLIC_CALLER } from "./caller.js";
import { requireOperator } from "./operator-access.js";

const HERE = { host: "127.0.0.1:8080", origin: "", fetchSite: "" };

function verdict(
  access: { loopbackOnly: boolean; open: boolean },
  request: Partial<typeof HERE>,
  caller: Caller = PUBLIC_CALLER,
): string {
  try {
    requireOperator(access, { ...HERE, ...request }, caller);
    return "served";
  } catch (error) {
    if (!(error instanceof ServiceError)) return String(error);
    return `${error.code} ${String(error.context.reason ?? error.context.scope)}`;
  }
}

const keyed = (...scopes: readonly Scope[]): Caller => ({ ownerId: "o", keyId: "pk_1", scopes: new Set(scopes) });

describe("access to the operator's data", () => {
  it.each([
    [{}, "served"],
    [{ host: "localhost" }, "served"],
    [{ host: "LOCALHOST:80" }, "served"],
    [{ host: "[::1]:8080" }, "served"],
    [{ origin: "http://127.0.0.1:8080", fetchSite: "same-origin" }, "served"],
    [{ fetchSite: "none" }, "served"],
    [{ host: "evil.example:8080" }, "OPERATOR_DATA FOREIGN_HOST"],
    [{ host: "localhost.evil.example" }, "OPERATOR_DATA FOREIGN_HOST"],
    [{ host: "127.0.0.1.evil.example" }, "OPERATOR_DATA FOREIGN_HOST"],
    [{ host: "" }, "OPERATOR_DATA FOREIGN_HOST"],
    [{ origin: "https://evil.example" }, "OPERATOR_DATA CROSS_SITE"],
    [{ origin: "null" }, "OPERATOR_DATA CROSS_SITE"],
    [{ origin: "http://127.0.0.1:3000" }, "OPERATOR_DATA CROSS_SITE"],
    [{ fetchSite: "cross-site" }, "OPERATOR_DATA CROSS_SITE"],
    [{ fetchSite: "same-site" }, "OPERATOR_DATA CROSS_SITE"],
  ])("with %j on loopback is %s", (request, expected) => {
    expect(verdict({ loopbackOnly: true, open: false }, request)).toBe(expected);
  });

  it("is refused to every caller on another address, and to none once opened", () => {
    expect(verdict({ loopbackOnly: false, open: false }, {})).toBe("OPERATOR_DATA NOT_LOOPBACK");
    expect(verdict({ loopbackOnly: false, open: true }, { host: "api.example", origin: "https://desk.example" })).toBe(
      "served",
    );
  });

  it("is given to a key with `admin` from anywhere, and to no other key, on loopback neither", () => {
    const far = { host: "api.example", origin: "https://desk.example", fetchSite: "cross-site" };
    expect(verdict({ loopbackOnly: false, open: false }, far, keyed("admin"))).toBe("served");
    for (const open of [true, false]) {
      const trader = keyed("read", "trade", "transfer", "sign");
      expect(verdict({ loopbackOnly: true, open }, {}, trader)).toBe("SCOPE_MISSING admin");
      expect(verdict({ loopbackOnly: true, open }, {}, ANONYMOUS_CALLER)).toBe("SCOPE_MISSING admin");
    }
  });
});
