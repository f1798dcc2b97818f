/**
 * Both parties of the memory test as processes of their own, and what the test works out of their files: the shares,
 * the joint key, and the nonce shares of each signature. Only the test's own process ever knows these together.
 */
import { type ChildProcess, fork } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Arena } from "../../../engine/custody/mpc/base/arena.js";
import type { Party } from "../../../engine/custody/mpc/base/parameters.js";
import { baseTimes, encodePublic } from "../../../engine/custody/mpc/base/point.js";
import { drawSessionSecrets, systemRandom } from "../../../engine/custody/mpc/base/random.js";
import { commit } from "../../../engine/custody/mpc/parts/commitment.js";
import { type SignNames, signScope } from "../../../engine/custody/mpc/sessions/sign-material.js";
import type { OpenShare } from "../../../engine/custody/mpc/state/share-record.js";
import { decodeHeader, HEADER_BYTES, type Message } from "../../../engine/custody/mpc/wire/header.js";
import { MESSAGE } from "../../../engine/custody/mpc/wire/message-types.js";
import { decodeF1, decodeF2, decodeF3 } from "../../../engine/custody/mpc/wire/sign-bodies.js";
import { DurablePartyStore } from "../../../engine/custody/provider/durable-party-store.js";
import { openStoredShare, sealedShares } from "../../../engine/custody/provider/share-row.js";
import { createSystemClock } from "../../../engine/domain/clock.js";
import { openPrivately } from "../../../engine/storage/lmdb-file.js";
import { OWNER_KEY } from "../../../engine/storage/lmdb-owner.js";
import { openLmdbStore } from "../../../engine/storage/lmdb-store.js";
import { compileChild } from "../../../engine/storage/test/compile-child.js";
import { openKeyring } from "../../../gateway/admin/seals.js";
import { makeParties } from "../../../gateway/custody/party-setup.js";
import type { PartyCommand } from "./watched-party.js";

const DRAW_BYTES = 64;
const NAMES = ["service", "cosigner"] as const;
const SUPPORT = "bench/test/support";

type Answer = { readonly result: unknown } | { readonly problem: string };

/** A signature as far as it went: null where the party had drawn no nonce share yet. */
export interface Signing {
  readonly ctr: bigint;
  readonly nonces: readonly [bigint | null, bigint | null];
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

export class WatchedParty {
  readonly child: ChildProcess;
  readonly pid: number;
  output = "";
  readonly #waiting: Waiting[] = [];

  constructor(child: ChildProcess) {
    this.child = child;
    this.pid = child.pid ?? 0;
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (chunk: Buffer) => {
        this.output += chunk.toString("latin1");
      });
    child.on("message", (message: Answer) => {
      const waiting = this.#waiting.shift();
      if ("problem" in message) waiting?.reject(new Error(message.problem));
      else waiting?.resolve(message.result);
    });
    child.once("close", () => {
      for (const { reject } of this.#waiting.splice(0)) reject(new Error(`ended: ${this.output.slice(-2_000)}`));
    });
  }

  /** The next answer. Rejects where the process ends. */
  answer(): Promise<unknown> {
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  ask(command: PartyCommand): Promise<unknown> {
    const answer = this.answer();
    this.child.send(command);
    return answer;
  }

  get isStopped(): boolean {
    // The name of the program is in brackets and may hold any letter.
    return / [Tt] /.test(readFileSync(`/proc/${this.pid}/stat`, "utf8").replace(/^.*\)/s, "").slice(0, 3));
  }

  go(): void {
    process.kill(this.pid, "SIGCONT");
  }
}

export class WatchedWallet {
  readonly folder = mkdtempSync(join(tmpdir(), "unwind-custody-memory-"));
  readonly parties: WatchedParty[] = [];
  readonly #framesFile = join(this.folder, "frames");
  /** By party and ctr. */
  readonly #nonces = new Map<string, bigint>();

  /** Resolves once both parties run; the link may come up later. */
  async start(): Promise<readonly [WatchedParty, WatchedParty]> {
    makeParties({ directory: this.folder, backupKeys: { service: null, cosigner: null }, random: systemRandom });
    writeFileSync(join(this.folder, "service", "kek"), randomBytes(32), { mode: 0o600 });
    const program = join(this.folder, "program");
    const main = compileChild(`${SUPPORT}/custody-service.child.ts`, program, [
      `${SUPPORT}/custody-cosigner.child.ts`,
      `${SUPPORT}/custody-worker.child.ts`,
    ]);
    const other = join(program, SUPPORT, "custody-cosigner.child.js");
    const cosigner = this.#fork(other, [join(this.folder, "cosigner"), this.#drawsFile(1)]);
    const port = await cosigner.answer();
    const service = this.#fork(main, [this.folder, String(port), this.#drawsFile(0), this.#framesFile]);
    await service.answer();
    return [service, cosigner];
  }

  dispose(): void {
    for (const { child } of this.parties) child.kill("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }

  directoryOf(party: Party): string {
    return join(this.folder, NAMES[party]);
  }

  /** What went over the link, as frames before TLS. */
  wire(): Buffer {
    return readFileSync(this.#framesFile);
  }

  frames(): readonly Message[] {
    const wire = this.wire();
    const frames: Message[] = [];
    for (let at = 0; at < wire.length; ) {
      const header = decodeHeader(wire.subarray(at));
      const end = at + HEADER_BYTES + header.length;
      frames.push({ header, body: wire.subarray(at + HEADER_BYTES, end) });
      at = end;
    }
    return frames;
  }

  /** Nothing is written meanwhile, so a copy of the files is a whole store. */
  async openShare(party: Party, walletId: Uint8Array, epoch: number): Promise<OpenShare> {
    const copy = mkdtempSync(join(this.folder, "copy-"));
    cpSync(join(this.directoryOf(party), "data"), copy, {
      recursive: true,
      filter: (path) => !path.endsWith(".sock"),
    });
    // The copy belongs to nobody; the row of its owner names a process that lives.
    const rows = openPrivately(copy);
    rows.removeSync(OWNER_KEY);
    await rows.close();
    const clock = createSystemClock();
    const store = openLmdbStore({ directory: copy, clock });
    const kek = { kind: "file", path: join(this.directoryOf(party), "kek") } as const;
    const ring = await openKeyring({ store, kek, formerKek: null, places: [sealedShares(party)], clock });
    const stored = await new DurablePartyStore(store).share(walletId, epoch);
    if (ring === null || stored === null) throw new Error("no share");
    const share = openStoredShare(ring, walletId, party, stored);
    ring.close();
    await store.close();
    rmSync(copy, { recursive: true });
    return share;
  }

  /**
   * Each nonce share is worked out again from the party's share, the session and the 64 bytes that the party drew; of
   * all that it ever drew those are the right ones whose R and salt give the commitment that it sent.
   */
  signings(shares: readonly [OpenShare, OpenShare]): readonly Signing[] {
    const found: Signing[] = [];
    const frames = this.frames();
    for (const { header, body } of frames) {
      if (header.type !== MESSAGE.f1 || header.epoch !== shares[0].epoch) continue;
      const flight = (type: number) =>
        frames.find((each) => each.header.type === type && each.header.ctr === header.ctr);
      const [f2, f3] = [flight(MESSAGE.f2), flight(MESSAGE.f3)];
      if (f2 === undefined) continue;
      const { nonce, digest } = decodeF1(body);
      const answer = decodeF2(f2.body);
      const names = { ctr: header.ctr, digest, nonces: [nonce, answer.nonce] as const };
      const ofService = f3 === undefined ? null : decodeF3(f3.body).messageA.commitment;
      found.push({
        ctr: header.ctr,
        nonces: [
          ofService === null ? null : this.#nonceShare(0, shares[0], names, ofService),
          this.#nonceShare(1, shares[1], names, answer.messageA.commitment),
        ],
      });
    }
    return found;
  }

  #nonceShare(party: Party, share: OpenShare, names: SignNames, sent: Buffer): bigint {
    const id = `${party}/${names.ctr}`;
    const known = this.#nonces.get(id);
    if (known !== undefined) return known;
    const scope = signScope(share, names);
    const given = { scope, party, share: share.share, ctr: names.ctr, digest: names.digest };
    const drawn = readFileSync(this.#drawsFile(party));
    // The newest draws first: those of the key generation are some hundred.
    for (let end = drawn.length; end >= DRAW_BYTES; end -= DRAW_BYTES) {
      const fill = (_label: string, target: Uint8Array) => target.set(drawn.subarray(end - DRAW_BYTES, end));
      const { k, salt } = drawSessionSecrets(given, { fill }, new Arena());
      if (!commit(scope, "sign/com", party, [salt, encodePublic(baseTimes(k)).bytes]).equals(sent)) continue;
      this.#nonces.set(id, k);
      return k;
    }
    throw new Error(`no draw of party ${party} gives its commitment`);
  }

  #drawsFile(party: Party): string {
    const path = join(this.folder, `${NAMES[party]}-draws`);
    if (!existsSync(path)) writeFileSync(path, "");
    return path;
  }

  #fork(main: string, args: readonly string[]): WatchedParty {
    const child = fork(main, args, {
      execArgv: [],
      env: {},
      cwd: this.folder,
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    const party = new WatchedParty(child);
    this.parties.push(party);
    return party;
  }
}
