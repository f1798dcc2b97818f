/** `unwind custody …`, and the way to a co-signer's own socket. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readBackupPrivateKey } from "../../engine/custody/provider/backup-key.js";
import { createSystemClock } from "../../engine/domain/clock.js";
import { silentLogger } from "../../engine/domain/logger.js";
import { buildSignerContract } from "../../schemas/signer-openapi.js";
import { AdminServer } from "../admin/admin-server.js";
import { AdminOperations } from "../admin/operations.js";
import { memoryPorts } from "../admin/test/admin-doubles.js";
import { readPartyConfig } from "../custody/party-config.js";
import { formatPin } from "../custody/pins.js";
import { reachCosigner } from "./reach-cosigner.js";
import { runCli } from "./run-cli.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "unwind-custody-cli-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const clock = createSystemClock();

async function run(...words: string[]) {
  let stdout = "";
  let stderr = "";
  const code = await runCli(words, {
    version: "0.1.0",
    out: async (text) => {
      stdout += text;
    },
    error: (text) => {
      stderr += text;
    },
    reach: ({ cosigner }) =>
      cosigner === null ? Promise.reject(new Error("the service is not asked")) : reachCosigner(cosigner, clock),
    untilStopped: async () => {},
  });
  return { code, stdout, stderr };
}

const text = (path: string) => readFileSync(path, "utf8");

describe("unwind custody contract", () => {
  it("prints the document that an outside signer is built from", async () => {
    for (const words of [[], ["--json"]]) {
      const { code, stdout, stderr } = await run("custody", "contract", ...words);
      expect([code, stderr, JSON.parse(stdout)]).toEqual([0, "", buildSignerContract()]);
    }
  });
});

describe("unwind custody init", () => {
  it("makes two folders that pin each other, says what to do next, and shows no private key", async () => {
    const { code, stdout, stderr } = await run("custody", "init", join(folder, "new"));
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain(`Set CUSTODY_DIR=${join(folder, "new", "service")}`);
    expect(stdout).toContain("two different people");
    expect(stdout).toContain("KEK_FILE");
    for (const [party, peer] of [
      ["service", "cosigner"],
      ["cosigner", "service"],
    ] as const) {
      const read = readPartyConfig(join(folder, "new", party), party, text);
      if (!read.ok) throw new Error(read.problems.join());
      const pin = JSON.parse((await run("custody", "pin", join(folder, "new", peer), "--json")).stdout) as {
        pin: string;
      };
      expect(read.config.peerPins.map(formatPin)).toEqual([pin.pin]);
      const privateFile = join(folder, "new", "offline", `${party}-backup.key`);
      expect(statSync(privateFile).mode & 0o777).toBe(0o600);
      const key = readBackupPrivateKey(readFileSync(privateFile));
      expect(stdout).not.toContain(key?.toString("hex"));
    }
  });

  it("takes public keys whose private halves are elsewhere, and makes none then", async () => {
    const keys = [join(folder, "a.key"), join(folder, "b.key")];
    const made = await Promise.all(keys.map((file) => run("custody", "backup-key", file, "--json")));
    const [service, cosigner] = made.map(({ stdout }, at) => {
      const { backupPublicKey, ...rest } = JSON.parse(stdout) as Record<string, string>;
      expect(rest).toEqual({ backupPrivateFile: keys[at] });
      return backupPublicKey;
    });
    const told = await run(
      ...["custody", "init", join(folder, "new"), "--json", "--service-backup-key", String(service)],
      ...["--cosigner-backup-key", String(cosigner)],
    );
    expect(JSON.parse(told.stdout)).toMatchObject({
      service: { backupPublicKey: service, backupPrivateFile: null },
      cosigner: { backupPublicKey: cosigner, backupPrivateFile: null },
    });
    expect(existsSync(join(folder, "new", "offline"))).toBe(false);
    const same = await run(
      ...["custody", "init", join(folder, "same"), "--service-backup-key", String(service)],
      ...["--cosigner-backup-key", String(service)],
    );
    expect(same).toMatchObject({ code: 3, stdout: "", stderr: expect.stringContaining("one key") });
  });

  it("writes over nothing", async () => {
    await run("custody", "init", join(folder, "new"));
    const before = text(join(folder, "new", "service", "party.json"));
    expect(await run("custody", "init", join(folder, "new"))).toMatchObject({ code: 3, stdout: "" });
    expect(text(join(folder, "new", "service", "party.json"))).toBe(before);
    writeFileSync(join(folder, "there"), "mine");
    const there = await run("custody", "backup-key", join(folder, "there"));
    expect(there).toMatchObject({ code: 3, stderr: expect.stringContaining("exists already") });
    expect(text(join(folder, "there"))).toBe("mine");
  });

  it.each([
    [["custody", "init"], "missing required argument"],
    [["custody", "init", "x", "--service-backup-key", "12"], "32 bytes"],
    [["custody", "init", "x", "--service-backup-key", "00".repeat(32)], "low order"],
    [["custody", "pin", "/nowhere"], "cannot be read"],
    [["custody", "certificate"], "missing required argument"],
    [["cosigner"], "missing required argument"],
    [["cosigner", "x", "--log-level", "loud"], "Allowed choices"],
    [["cosigner", "/nowhere"], "unwind custody init"],
  ])("and its neighbours end `unwind %j` with 2 and say why", async (words, why) => {
    const result = await run(...words);
    expect(result).toMatchObject({ code: 2, stdout: "" });
    expect(result.stderr).toContain(why);
  });
});

describe("unwind custody certificate", () => {
  const pinOf = async (party: string) =>
    JSON.parse((await run("custody", "pin", join(folder, "new", party), "--json")).stdout) as {
      readonly pin: string;
      readonly nextPin?: string;
    };

  it.each(["service", "cosigner"])(
    "gives the %s a new one in two steps, and says what is next each time",
    async (party) => {
      await run("custody", "init", join(folder, "new"));
      const directory = join(folder, "new", party);
      const { pin: formerPin } = await pinOf(party);
      const made = await run("custody", "certificate", directory);
      const { pin, nextPin = "" } = await pinOf(party);
      expect([pin, made.code, made.stderr]).toEqual([formerPin, 0, ""]);
      expect(made.stdout).toContain(`1. Add ${nextPin} to peerPins in the party.json of the other party`);
      expect(made.stdout).toContain(`unwind custody certificate ${directory} --use`);
      const again = await run("custody", "certificate", directory, "--json");
      expect(JSON.parse(again.stdout)).toEqual({ pin, nextPin });

      const used = await run("custody", "certificate", directory, "--use");
      expect([used.code, used.stderr]).toEqual([0, ""]);
      expect(used.stdout).toContain(`Take ${formerPin} out of peerPins of the other party`);
      expect(await pinOf(party)).toEqual({ pin: nextPin });
      const key = text(join(directory, "link.key")).split("\n")[1] ?? "";
      expect(made.stdout + again.stdout + used.stdout).not.toContain(key);
    },
  );

  it("refuses to take up what is not there, and ends with 2 where the folder is no party's or its files are broken", async () => {
    await run("custody", "init", join(folder, "new"));
    const directory = join(folder, "new", "service");
    const early = await run("custody", "certificate", directory, "--use");
    expect(early).toMatchObject({ code: 3, stdout: "", stderr: expect.stringContaining("NO_NEXT") });
    expect(early.stderr).toContain("without --use");
    for (const bad of [folder, join(folder, "nowhere"), join(folder, "new")])
      expect(await run("custody", "certificate", bad)).toMatchObject({
        ...{ code: 2, stdout: "", stderr: expect.stringContaining("is no party's folder") },
      });
    writeFileSync(join(directory, "party.json"), "{");
    expect(await run("custody", "certificate", directory)).toMatchObject({ code: 2, stdout: "" });
    const cosigner = join(folder, "new", "cosigner");
    chmodSync(join(cosigner, "link.key"), 0o644);
    expect(await run("custody", "certificate", cosigner)).toMatchObject({
      ...{ code: 2, stdout: "", stderr: expect.stringContaining("KEY_FILE") },
    });
    expect(existsSync(join(cosigner, "link.key.next"))).toBe(false);
  });
});

describe("the way to a co-signer", () => {
  it("is its own socket while it runs, and exit code 4 while it does not", async () => {
    await run("custody", "init", join(folder, "new"));
    const cosigner = join(folder, "new", "cosigner");
    const away = await run("wallets", "list", "--cosigner", cosigner);
    expect(away).toMatchObject({ code: 4, stdout: "", stderr: expect.stringContaining("COSIGNER_NOT_RUNNING") });
    expect(existsSync(join(cosigner, "data"))).toBe(false);
    mkdirSync(join(cosigner, "data"), { mode: 0o700 });
    const { ports, audit } = memoryPorts({
      sealRotation: {
        rotate: async () => ({ kekId: "k2", isDone: true, rewrappedRows: 0, leftRows: 0, foreignRows: 0 }),
      },
    });
    const operations = new AdminOperations(ports, silentLogger);
    const path = join(cosigner, "data", "admin.sock");
    const server = new AdminServer({ path, operations, clock, logger: silentLogger });
    await server.start();
    try {
      expect((await run("seal", "rotate", "--cosigner", cosigner)).stdout).toContain("k2");
      expect((await run("audit", "--cosigner", cosigner)).stdout).toContain("seal.rotate");
      expect((await run("status", "--cosigner", cosigner)).code).toBe(0);
      expect(audit.rows.length).toBe(1);
    } finally {
      await server.stop(1_000);
    }
  });

  it("needs the co-signer's folder, not the service's", async () => {
    await run("custody", "init", join(folder, "new"));
    const result = await run("wallets", "list", "--cosigner", join(folder, "new", "service"));
    expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining("this folder is the service's") });
  });
});
