/** What a person entered as a key, and what the service's answer to it means. */
import { describe, expect, it } from "vitest";
import { isAboutTheKey, keyLabel, readKeys, signInProblem } from "./sign-in.js";

const refused = (code: string) => ({ ok: false, code, error: `refused: ${code}` }) as const;

describe("an entered key", () => {
  it("is read without the blanks that copying brings along", () => {
    expect(readKeys(" pk_1\n", "\tsk_1 ")).toEqual({ ok: true, keys: { apiKey: "pk_1", secret: "sk_1" } });
  });

  it.each([
    ["", "sk", "Enter the key and its secret."],
    ["pk", "  ", "Enter the key and its secret."],
    ["pk 1", "sk", "This is no key, or no secret."],
    ["pk\r\nx-api-secret: 1", "sk", "This is no key, or no secret."],
    ["pk", "sk\u0000", "This is no key, or no secret."],
    ["pk", "sé", "This is no key, or no secret."],
    ["p".repeat(129), "sk", "This is no key, or no secret."],
  ])("of %j and %j is refused before it is used", (key, secret, problem) => {
    expect(readKeys(key, secret)).toEqual({ ok: false, problem });
  });

  it("is shown without its middle", () => {
    expect(keyLabel("pk_1")).toBe("pk_1");
    expect(keyLabel("pk_0123456789abcdef")).toBe("pk_012345…cdef");
  });
});

describe("the answer to a key", () => {
  it.each(["AUTH_MISSING_HEADER", "AUTH_REQUIRED", "AUTH_UNKNOWN_KEY", "AUTH_BAD_SIGNATURE", "KEY_REVOKED"])(
    "%s is about the key",
    (code) => {
      expect([isAboutTheKey(code), signInProblem(refused(code))]).toEqual([true, `refused: ${code}`]);
    },
  );

  it.each(["MISSING_CREDENTIALS", "SCOPE_MISSING", "OPERATOR_DATA", "IP_NOT_ALLOWED", "UNREACHABLE"])(
    "%s leaves the key as it is",
    (code) => expect(isAboutTheKey(code)).toBe(false),
  );

  it("accepts a key whose scopes do not cover the first call", () => {
    expect(signInProblem(refused("SCOPE_MISSING"))).toBe("");
  });
});
