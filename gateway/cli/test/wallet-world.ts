/**
 * Both signing parties in this process for tests of the command line: folders, certificates, keys, stores and backups as
 * `unwind custody init` makes them, a connection in memory, and a clock that stands still, so that no deadline passes
 * however slow the machine is.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemRandom } from "../../../engine/custody/mpc/base/random.js";
import type { Party } from "../../../engine/custody/mpc/base/parameters.js";
import { DEFAULT_POLICY } from "../../../engine/custody/policy/policy.js";
import { refusalReply } from "../../../engine/custody/policy/refusals.js";
import { CosignerHost } from "../../../engine/custody/provider/cosigner-host.js";
import { PolicyDayBook } from "../../../engine/custody/provider/day-book.js";
import type { BackupFolder } from "../../../engine/custody/provider/party-store.js";
import { DurablePartyStore } from "../../../engine/custody/provider/durable-party-store.js";
import { EmbeddedProvider } from "../../../engine/custody/provider/embedded-provider.js";
import { createCosignerRunner, createServiceRunner } from "../../../engine/custody/provider/local-runner.js";
import { runnerPorts } from "../../../engine/custody/provider/runner-ports.js";
import { sealedShares } from "../../../engine/custody/provider/share-row.js";
import { signingIntent } from "../../../engine/custody/provider/signing-intent.js";
import { MemoryLink } from "../../../engine/custody/provider/test/memory-link.js";
import { createSystemClock } from "../../../engine/domain/clock.js";
import { silentLogger } from "../../../engine/domain/logger.js";
import { Owners } from "../../../engine/domain/owner.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { openLmdbStore } from "../../../engine/storage/lmdb-store.js";
import { CUSTODY_ACTS } from "../../../feeds/custody-acts.js";
import { secp256k1 } from "../../../feeds/shared/sign/secp256k1.js";
import { directAdmin } from "../../admin/direct-admin.js";
import { AdminOperations } from "../../admin/operations.js";
import { openKeyring } from "../../admin/seals.js";
import { memoryPorts } from "../../admin/test/admin-doubles.js";
import type { WalletAdmin } from "../../admin/wallet-admin.js";
import { serviceWallets } from "../../app/custody-admin.js";
import { cosignerWallets } from "../../cosigner/cosigner-admin.js";
import { backedUpIn, openBackupFolder } from "../../custody/backup-folder.js";
import { CustodyRecord } from "../../custody/custody-record.js";
import { readPartyConfig } from "../../custody/party-config.js";
import type { PartyName } from "../../custody/party-names.js";
import { identityOfParty } from "../../custody/party-identity.js";
import { makeParties } from "../../custody/party-setup.js";
import { WalletRestores } from "../../admin/wallet-restores.js";
import { runCli } from "../run-cli.js";

const NAMES: readonly [PartyName, PartyName] = ["service", "cosigner"];

export class WalletWorld {
  readonly directory = mkdtempSync(join(tmpdir(), "unwind-wallets-"));
  readonly clock = new VirtualClock();
  readonly audit = memoryPorts().audit;
  service!: EmbeddedProvider;
  cosigner!: CosignerHost;
  /** What the parties tell goes into the log of their operators' acts, as it is wired. */
  readonly #record = new CustodyRecord({ audit: this.audit, logger: silentLogger });
  #link = new MemoryLink(this.clock);
  #admins: [WalletAdmin | null, WalletAdmin | null] = [null, null];
  #undo: (() => unknown)[] = [];

  constructor() {
    makeParties({ directory: this.directory, backupKeys: { service: null, cosigner: null }, random: systemRandom });
    writeFileSync(this.path("service", "kek"), systemBytes(32), { mode: 0o600 });
  }

  path(...parts: string[]): string {
    return join(this.directory, ...parts);
  }

  backups(party: Party): string {
    return this.path(NAMES[party], "backups");
  }

  backupFiles(party: Party): readonly string[] {
    return readdirSync(this.backups(party));
  }

  /** For a test whose folder refuses. */
  folderOf(_party: Party, folder: BackupFolder): BackupFolder {
    return folder;
  }

  keyFile(party: Party): string {
    return this.path("offline", `${NAMES[party]}-backup.key`);
  }

  /** Both start on their folders and meet. */
  async up(): Promise<void> {
    this.#link = new MemoryLink(this.clock);
    await this.#startService();
    await this.#startCosigner();
    this.#link.connect();
    await this.until(() => this.service.status().problem === null);
  }

  async down(): Promise<void> {
    for (const end of this.#undo.splice(0).reverse()) await end();
  }

  /** A disk that is lost: its backups are kept elsewhere. */
  lose(party: Party): void {
    rmSync(this.#store(party), { recursive: true });
  }

  async end(): Promise<void> {
    await this.down();
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** `C` stands for `--cosigner <folder>`. */
  async cli(args: string) {
    let stdout = "";
    let stderr = "";
    const words = args.split(" ").flatMap((word) => (word === "C" ? ["--cosigner", this.path("cosigner")] : [word]));
    const code = await runCli(words, {
      version: "0.1.0",
      out: async (text) => {
        stdout += text;
      },
      error: (text) => {
        stderr += text;
      },
      reach: async ({ cosigner }) => {
        const { ports } = memoryPorts({ audit: this.audit, wallets: this.#admins[cosigner === null ? 0 : 1] });
        return directAdmin(new AdminOperations(ports, silentLogger), async () => {});
      },
      untilStopped: async () => {},
    });
    return { code, stdout, stderr };
  }

  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
  }

  async #startService(): Promise<void> {
    const shared = await this.#parts(0);
    const { ring, store, key, ...rest } = shared;
    this.service = new EmbeddedProvider({
      ...rest,
      ...{ rows: store, owners: new Owners(), random: systemRandom },
      backedUp: () => backedUpIn(this.backups(0), 0),
      ...{ runner: createServiceRunner(runnerPorts(ring, key, secp256k1)), store: new DurablePartyStore(store) },
      ...{ intents: { encode: signingIntent }, rules: { explain: refusalReply }, linkProblem: () => null },
      creationWrites: () => [],
      instance: { toTell: { id: "00".repeat(16), count: 1 }, met() {}, heard() {} },
    });
    const provider = this.service;
    const restores = new WalletRestores({
      ...{ party: 0, sealer: ring, random: systemRandom, clock: this.clock },
      stored: (walletId) => provider.stored(walletId),
      restore: async (wallet, owner) => {
        if (owner === null) throw new Error("owner");
        await provider.restore(wallet, owner);
      },
    });
    await provider.start();
    this.#undo.push(() => provider.stop());
    this.#admins[0] = serviceWallets(provider, restores);
  }

  async #startCosigner(): Promise<void> {
    const { ring, store, key, ...rest } = await this.#parts(1);
    const book = { policy: DEFAULT_POLICY, acts: CUSTODY_ACTS };
    this.cosigner = new CosignerHost({
      ...{ ...rest, store: new DurablePartyStore(store) },
      runner: createCosignerRunner(runnerPorts(ring, key, secp256k1)),
      dayBook: new PolicyDayBook({ book, nowMs: () => this.clock.wallMs(), refused() {} }),
      counts: { told: async (theirs) => theirs },
    });
    const host = this.cosigner;
    const restores = new WalletRestores({
      ...{ party: 1, sealer: ring, random: systemRandom, clock: this.clock },
      stored: (walletId) => host.stored(walletId),
      restore: (wallet) => host.restore(wallet),
    });
    await host.start();
    this.#undo.push(() => host.stop());
    this.#admins[1] = cosignerWallets({ host, restores });
  }

  async #parts(party: Party) {
    const read = readPartyConfig(this.path(NAMES[party]), NAMES[party], (path) => readFileSync(path, "utf8"));
    if (!read.ok || read.config.backupKey === null) throw new Error("party.json");
    const { backupKey: key, backupDirectory } = read.config;
    const store = openLmdbStore({ directory: this.#store(party), clock: createSystemClock() });
    this.#undo.push(() => store.close());
    const kek = { kind: "file", path: this.path(NAMES[party], "kek") } as const;
    const places = [sealedShares(party)];
    const ring = await openKeyring({ store, kek, formerKek: null, places, clock: this.clock });
    if (ring === null) throw new Error("no key");
    this.#undo.push(() => ring.close());
    const folder = await openBackupFolder({ path: backupDirectory, party, clock: this.clock });
    const backups = this.folderOf(party, folder);
    return {
      ...{ ring, store, key, backups, clock: this.clock, events: this.#record },
      ...{ identity: identityOfParty(party, ring, key), link: this.#link.end(party) },
    };
  }

  #store(party: Party): string {
    return this.path(NAMES[party], "data");
  }
}

function systemBytes(byteLength: number): Buffer {
  const bytes = Buffer.alloc(byteLength);
  systemRandom.fill("kek", bytes);
  return bytes;
}
