import { describe, expect, it } from "vitest";
import { ServiceError } from "../../engine/domain/errors.js";
import { requireOperator } from "./operator-access.js";

const HERE = { host: "127.0.0.1:8080", origin: "", fetchSite: "" };

function verdict(access: { loopbackOnly: boolean; open: boolean }, request: Partial<typeof HERE>): string {
  try {
    requireOperator(access, { ...HERE, ...request });
    return "served";
  } catch (error) {
    return error instanceof ServiceError ? `${error.code} ${String(error.context.reason)}` : String(error);
  }
}

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
});
