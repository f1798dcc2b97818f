/** A new certificate for one party: each step over a real link, kills between any two files, and wrong orders. */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { systemRandom } from "../../engine/custody/mpc/base/random.js";
import { compileChild } from "../../engine/storage/test/compile-child.js";
import { makeNextCertificate, pinsOfParty, useNextCertificate } from "./certificate-change.js";
import type { LinkProblem } from "./link-status.js";
import { openIdentity } from "./link-tls.js";
import { readPartyCertificate } from "./party-certificate.js";
import { CONFIG_FILE, filesOf, readPartyConfig } from "./party-config.js";
import { PARTY_NAMES, type PartyName } from "./party-names.js";
import { makeParties } from "./party-setup.js";
import { formatPin } from "./pins.js";
import { Stage } from "./test/link-doubles.js";
import { certificateProblem } from "./test/certificate-problem.js";

let root: string;
let program: string;
let places = 0;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "unwind-certificates-"));
  program = compileChild("gateway/custody/test/certificate-change.child.ts", join(root, "program"));
  makeParties({ directory: join(root, "made"), backupKeys: { service: null, cosigner: null }, random: systemRandom });
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const stage = new Stage();
afterEach(() => stage.end());

/** Both folders, as `unwind custody init` makes them. */
function place(): (party: PartyName) => string {
  const folder = join(root, `place-${places++}`);
  cpSync(join(root, "made"), folder, { recursive: true });
  return (party) => join(folder, party);
}

const other = (party: PartyName): PartyName => (party === "service" ? "cosigner" : "service");
const shown = (directory: string): string => formatPin(readPartyCertificate(filesOf(directory)).pin);

function setPins(directory: string, ...peerPins: readonly string[]): void {
  const path = join(directory, CONFIG_FILE);
  writeFileSync(path, JSON.stringify({ ...(JSON.parse(readFileSync(path, "utf8")) as object), peerPins }));
}

function configOf(directory: string, party: PartyName) {
  const read = readPartyConfig(directory, party, (path) => readFileSync(path, "utf8"));
  if (!read.ok) throw new Error(read.problems.join());
  return read.config;
}

/** Both start on their folders. What the service's first connection comes to: `connected`, or why it is refused. */
async function met(of: (party: PartyName) => string): Promise<"connected" | LinkProblem | null> {
  const [service, cosigner] = PARTY_NAMES.map((party) => {
    const { files, peerPins } = configOf(of(party), party);
    return openIdentity(files, peerPins);
  });
  if (service === undefined || cosigner === undefined) throw new Error("two parties");
  const server = await stage.server({ identity: cosigner });
  const client = stage.client(server.port, { identity: service });
  const refused = () => client.link.status().lastProblem ?? server.link.status().lastProblem;
  await expect.poll(() => client.listener.count("connected") + (refused() === null ? 0 : 1)).toBeGreaterThan(0);
  // The co-signer's word comes behind the handshake: the service takes itself for connected until then.
  await expect.poll(() => server.listener.count("connected") + (refused() === null ? 0 : 1)).toBeGreaterThan(0);
  const problem = refused();
  await stage.end();
  return problem ?? "connected";
}

describe("a new certificate", () => {
  it.each(PARTY_NAMES)(
    "of the %s: the two talk after each step, and the former key opens nothing in the end",
    async (party) => {
      const of = place();
      const [own, peer] = [of(party), of(other(party))];
      const files = filesOf(own);
      const former = pinsOfParty(files).pin;
      expect(await met(of)).toBe("connected");

      const made = makeNextCertificate(files, party === "service" ? 0 : 1);
      expect([made.pin, pinsOfParty(files)]).toEqual([former, made]);
      expect(statSync(`${files.keyFile}.next`).mode & 0o777).toBe(0o600);
      expect(await met(of)).toBe("connected");
      setPins(peer, former, made.nextPin);
      expect(await met(of)).toBe("connected");
      expect(useNextCertificate(files)).toEqual({ pin: made.nextPin, formerPin: former });
      expect([shown(own), pinsOfParty(files)]).toEqual([made.nextPin, { pin: made.nextPin }]);
      expect(await met(of)).toBe("connected");
      setPins(peer, made.nextPin);
      expect(await met(of)).toBe("connected");

      const kept = { certFile: `${files.certFile}.old`, keyFile: `${files.keyFile}.old` };
      expect(formatPin(readPartyCertificate(kept).pin)).toBe(former);
      expect(statSync(kept.keyFile).mode & 0o777).toBe(0o600);
      for (const [from, to] of [
        [kept.certFile, files.certFile],
        [kept.keyFile, files.keyFile],
      ] as const)
        cpSync(from, to);
      expect(await met(of)).not.toBe("connected");
    },
  );

  it("is made once, taken up once, and the former of the next one is this one", () => {
    const of = place();
    const files = filesOf(of("service"));
    const first = makeNextCertificate(files, 0);
    expect(makeNextCertificate(files, 0)).toEqual(first);
    useNextCertificate(files);
    expect(certificateProblem(() => useNextCertificate(files))).toBe("NO_NEXT");
    const second = makeNextCertificate(files, 0);
    expect(second.pin).toBe(first.nextPin);
    useNextCertificate(files);
    const kept = { certFile: `${files.certFile}.old`, keyFile: `${files.keyFile}.old` };
    expect([shown(of("service")), formatPin(readPartyCertificate(kept).pin)]).toEqual([second.nextPin, first.nextPin]);
    expect(
      readdirSync(of("service"))
        .filter((name) => name.startsWith("link"))
        .sort(),
    ).toEqual([...["link.crt", "link.crt.old", "link.key", "link.key.old"]]);
  });
});

describe("a wrong order", () => {
  it.each(PARTY_NAMES)("is refused by the link until the other party pins what the %s shows", async (party) => {
    const of = place();
    const files = filesOf(of(party));
    const { pin: formerPin, nextPin: pin } = makeNextCertificate(files, party === "service" ? 0 : 1);
    // Taken up before it is pinned.
    useNextCertificate(files);
    expect(await met(of)).not.toBe("connected");
    setPins(of(other(party)), formerPin, pin);
    expect(await met(of)).toBe("connected");
    // The wrong one taken away.
    setPins(of(other(party)), formerPin);
    expect(await met(of)).not.toBe("connected");
    setPins(of(other(party)), pin);
    expect(await met(of)).toBe("connected");
  });

  it("of pins is named: three at once, and the party's own", () => {
    const of = place();
    const { pin: formerPin, nextPin: pin } = makeNextCertificate(filesOf(of("service")), 0);
    setPins(of("cosigner"), formerPin, pin, `sha256:${"0".repeat(64)}`);
    const read = readPartyConfig(of("cosigner"), "cosigner", (path) => readFileSync(path, "utf8"));
    expect(read).toMatchObject({ ok: false, problems: [expect.stringContaining("take the former one away")] });
    setPins(of("service"), formerPin);
    const { files, peerPins } = configOf(of("service"), "service");
    expect(certificateProblem(() => openIdentity(files, peerPins))).toBe("SAME_KEY");
  });

  it("of files is refused, and the party shows what it showed before", () => {
    const of = place();
    const files = filesOf(of("service"));
    const before = shown(of("service"));
    expect(certificateProblem(() => useNextCertificate(files))).toBe("NO_NEXT");
    makeNextCertificate(files, 0);
    // The key of another.
    cpSync(filesOf(of("cosigner")).keyFile, `${files.keyFile}.next`);
    expect(certificateProblem(() => useNextCertificate(files))).toBe("MISMATCH");
    expect(certificateProblem(() => makeNextCertificate(files, 0))).toBe("MISMATCH");
    expect([shown(of("service")), existsSync(`${files.keyFile}.old`)]).toEqual([before, false]);
  });
});

/** Runs the act in a process that is killed before its `at`th act on a file. */
function killed(act: "make" | "use", directory: string, at: number): boolean {
  const { signal, stdout, stderr } = spawnSync(process.execPath, [program, directory, act, String(at)], {
    encoding: "utf8",
  });
  if (signal === null && stdout !== "done\n") throw new Error(stderr);
  return signal === "SIGKILL";
}

describe("a kill before any act on a file", () => {
  it("of the making leaves the party as it is, and the command makes it when it is repeated", () => {
    let at = 0;
    for (; ; at++) {
      const directory = place()("service");
      const before = shown(directory);
      const wasKilled = killed("make", directory, at);
      expect([shown(directory), pinsOfParty(filesOf(directory)).pin], `act ${at}`).toEqual([before, before]);
      const { pin: formerPin, nextPin: pin } = makeNextCertificate(filesOf(directory), 0);
      expect([formerPin, pinsOfParty(filesOf(directory)).nextPin], `act ${at}`).toEqual([before, pin]);
      expect(useNextCertificate(filesOf(directory)).pin).toBe(pin);
      expect(shown(directory), `act ${at}`).toBe(pin);
      if (!wasKilled) break;
    }
    expect(at).toBeGreaterThan(5);
  });

  it("of the taking up leaves a party that shows the one or the other, and ends when it is repeated", async () => {
    let at = 0;
    const seen = new Set<string>();
    for (; ; at++) {
      const of = place();
      const files = filesOf(of("service"));
      const { pin: formerPin, nextPin: pin } = makeNextCertificate(files, 0);
      setPins(of("cosigner"), formerPin, pin);
      const wasKilled = killed("use", of("service"), at);
      const present = shown(of("service"));
      expect([formerPin, pin], `act ${at}`).toContain(present);
      expect(pinsOfParty(files).pin, `act ${at}`).toBe(present);
      expect(await met(of), `act ${at}`).toBe("connected");
      const isCutShort = present === pin && existsSync(`${files.certFile}.next`);
      seen.add(isCutShort ? "cut short" : present === pin ? "next" : "present");
      if (isCutShort) expect(certificateProblem(() => makeNextCertificate(files, 0))).toBe("CUT_SHORT");
      if (wasKilled && existsSync(`${files.certFile}.next`))
        expect(useNextCertificate(files), `act ${at}`).toEqual({ pin, formerPin });
      expect(shown(of("service")), `act ${at}`).toBe(pin);
      const kept = { certFile: `${files.certFile}.old`, keyFile: `${files.keyFile}.old` };
      expect(formatPin(readPartyCertificate(kept).pin), `act ${at}`).toBe(formerPin);
      if (!wasKilled) break;
    }
    expect([...seen].sort()).toEqual(["cut short", "next", "present"]);
  });
});
