import { describe, expect, it } from "vitest";
import { readCustody } from "./config-custody.js";
import { readPartyConfig } from "../custody/party-config.js";

const PIN = `sha256:${"5a".repeat(32)}`;
const KEY = "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f";
const SERVICE = { format: 1, party: "service", peerPins: [PIN], backupPublicKey: KEY };
const COSIGNER = { ...SERVICE, party: "cosigner", port: 7_443 };
const NONE = { CUSTODY_DIR: "", COSIGNER_DIR: "", COSIGNER_URL: "" };

function read(values: Partial<typeof NONE>, file: unknown = SERVICE, isPublic = false) {
  const problems: string[] = [];
  const text = file === null ? null : JSON.stringify(file);
  const custody = readCustody({ ...NONE, ...values }, isPublic, () => text, problems);
  return { custody, problems };
}

describe("the options of server wallets", () => {
  it("are none where no folder is named", () => {
    expect(read({})).toEqual({ custody: null, problems: [] });
    expect(read({ COSIGNER_URL: "tls://10.0.0.2:7443" }).problems).toEqual([
      "COSIGNER_DIR and COSIGNER_URL need CUSTODY_DIR",
    ]);
  });

  it("start a co-signer of the folder beside, of another one, or reach one on another host", () => {
    expect(read({ CUSTODY_DIR: "/k/service" }).custody?.cosigner).toEqual({ kind: "child", directory: "/k/cosigner" });
    expect(read({ CUSTODY_DIR: "/k/s", COSIGNER_DIR: "/c" }).custody?.cosigner).toEqual({
      kind: "child",
      directory: "/c",
    });
    for (const [url, host] of [
      ["tls://cosigner.example:7443", "cosigner.example"],
      ["tls://[::1]:7443/", "::1"],
    ] as const)
      expect(read({ CUSTODY_DIR: "/k/s", COSIGNER_URL: url }).custody?.cosigner).toEqual({
        kind: "remote",
        host,
        port: 7_443,
      });
  });

  it.each(["10.0.0.2:7443", "tcp://h:1", "tls://h", "tls://h:0", "tls://h:70000", "tls://u@h:1", "tls://h:1/x"])(
    "refuse the address %s",
    (url) => {
      expect(read({ CUSTODY_DIR: "/k/s", COSIGNER_URL: url }).problems).toEqual([
        "COSIGNER_URL must be tls://host:port",
      ]);
    },
  );

  it("are refused in public mode, and two places at once", () => {
    expect(read({ CUSTODY_DIR: "/k/s" }, SERVICE, true).problems.join()).toContain("set AUTH_MODE=signed");
    expect(read({ CUSTODY_DIR: "/k/s", COSIGNER_DIR: "/c", COSIGNER_URL: "tls://h:1" }).problems).toEqual([
      "COSIGNER_DIR and COSIGNER_URL are set together: keep one of them",
    ]);
  });

  it("name what is wrong with the folder", () => {
    expect(read({ CUSTODY_DIR: "/k/s" }, null).problems.join()).toContain("/k/s/party.json cannot be read");
    expect(read({ CUSTODY_DIR: "/k/c" }, COSIGNER).problems.join()).toContain("this folder is the cosigner's");
  });
});

describe("the configuration of a party", () => {
  const party = (name: "service" | "cosigner", file: unknown) =>
    readPartyConfig("/k", name, () => (typeof file === "string" ? file : JSON.stringify(file)));

  it("has paths in its own folder, or absolute ones", () => {
    expect(party("cosigner", { ...COSIGNER, kekFile: "/secrets/kek", policyFile: "policy.json" })).toEqual({
      ok: true,
      config: {
        ...{ party: "cosigner", directory: "/k", files: { certFile: "/k/link.crt", keyFile: "/k/link.key" } },
        ...{ peerPins: [Buffer.alloc(32, 0x5a)], backupDirectory: "/k/backups" },
        backupKey: { bytes: Buffer.from(KEY, "hex"), id: expect.any(Buffer) },
        cosigner: {
          ...{ host: "127.0.0.1", port: 7_443, kekFile: "/secrets/kek", dataDirectory: "/k/data" },
          ...{ kekFormerFile: null, policyFile: "/k/policy.json" },
        },
      },
    });
  });

  it("names all problems at once, and every member that is none of its own", () => {
    const result = party("service", { ...SERVICE, format: 2, peerPins: [], backupPublicKey: "AB", kekFile: "kek" });
    expect(result).toMatchObject({ ok: false });
    expect(
      result.ok ? [] : result.problems.map((problem) => problem.replace(/^\/k\/party\.json: (\w+).*$/, "$1")),
    ).toEqual(["kekFile", "format", "peerPins", "backupPublicKey"]);
  });

  it.each(["", "[]", "{", "null", '"x"'])("is one JSON object, not %j", (text) => {
    expect(party("service", text)).toEqual({ ok: false, problems: ["/k/party.json must hold one JSON object"] });
  });
});
