import { describe, expect, it } from "vitest";
import { readOutsideSigner } from "./config-outside-signer.js";
import type { FileFacts, Machine } from "./machine.js";

const PEM = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
const NONE = {
  WALLET_PROVIDER: "embedded",
  WALLET_PROVIDER_URL: "",
  WALLET_PROVIDER_TOKEN_FILE: "",
  WALLET_PROVIDER_CA_FILE: "",
  WALLET_PROVIDER_DIGESTS: false,
  CUSTODY_DIR: "",
};
const WHOLE = {
  WALLET_PROVIDER: "https",
  WALLET_PROVIDER_URL: "https://signer.example/v1",
  WALLET_PROVIDER_TOKEN_FILE: "/secrets/token",
};

function read(values: Partial<typeof NONE>, isPublic = false, facts: Partial<FileFacts> | string = {}) {
  const problems: string[] = [];
  const machine: Machine = {
    userId: 1_000,
    factsOf: () =>
      typeof facts === "string" ? facts : { kind: "file", mode: 0o600, userId: 1_000, isReadable: true, ...facts },
    realPathOf: (path) => path,
  };
  const readFile = (path: string) => (path === "/ca.pem" ? PEM : path === "/ca.der" ? "0\u0082" : null);
  const config = readOutsideSigner({ ...NONE, ...values }, { isPublic, machine, readFile }, problems);
  return { config, problems };
}

describe("the options of the outside signer", () => {
  it("are none where the embedded provider is meant, which none of them may belong to", () => {
    expect(read({})).toEqual({ config: null, problems: [] });
    for (const one of [
      { WALLET_PROVIDER_URL: "https://s.example" },
      { WALLET_PROVIDER_TOKEN_FILE: "/t" },
      { WALLET_PROVIDER_CA_FILE: "/ca.pem" },
      { WALLET_PROVIDER_DIGESTS: true },
    ])
      expect(read(one).problems).toEqual(["WALLET_PROVIDER_* need WALLET_PROVIDER=https"]);
  });

  it("are whole with an address and a token, whose text is not among them", () => {
    expect(read(WHOLE)).toEqual({
      config: { url: "https://signer.example/v1", tokenFile: "/secrets/token", ca: null, takesDigests: false },
      problems: [],
    });
    expect(read({ ...WHOLE, WALLET_PROVIDER_CA_FILE: "/ca.pem" }).config?.ca).toBe(PEM);
  });

  it("say all that is missing at once", () => {
    expect(read({ WALLET_PROVIDER: "https" }).problems).toEqual([
      "WALLET_PROVIDER=https needs WALLET_PROVIDER_URL",
      "WALLET_PROVIDER=https needs WALLET_PROVIDER_TOKEN_FILE",
    ]);
  });

  it("refuse two providers at once, and public mode", () => {
    expect(read({ ...WHOLE, CUSTODY_DIR: "/c" }).problems).toEqual([
      "WALLET_PROVIDER=https and CUSTODY_DIR are set together: keep one of them",
    ]);
    expect(read(WHOLE, true).problems.join()).toContain("set AUTH_MODE=signed");
  });

  it.each([
    ["http://signer.example", "must be https unless it is on this machine"],
    ["https://signer.example/?a=1", "must have no query"],
    ["https://signer.example/#a", "must have no query"],
  ])("refuse the address %s", (url, problem) => {
    expect(read({ ...WHOLE, WALLET_PROVIDER_URL: url }).problems.join()).toContain(problem);
  });

  it.each(["http://127.0.0.1:7000", "http://[::1]:7000", "http://localhost:7000/v1"])("take %s", (url) => {
    expect(read({ ...WHOLE, WALLET_PROVIDER_URL: url }).problems).toEqual([]);
  });

  it("refuse a token that others can read or that is not there, and authorities that are none", () => {
    expect(read(WHOLE, false, { mode: 0o640 }).problems).toEqual([
      "WALLET_PROVIDER_TOKEN_FILE /secrets/token has mode 0640, so others can read it: chmod 600 /secrets/token",
    ]);
    expect(read(WHOLE, false, "ENOENT").problems.join()).toContain("cannot be read (ENOENT)");
    expect(read({ ...WHOLE, WALLET_PROVIDER_CA_FILE: "/none" }).problems.join()).toContain("/none cannot be read");
    expect(read({ ...WHOLE, WALLET_PROVIDER_CA_FILE: "/ca.der" }).problems.join()).toContain("no certificate in PEM");
  });
});
