/**
 * The service and the co-signer as their operators run them, where one of them changes a bit of what it sends: the other
 * is killed between the failed check and its freeze, or right behind the freeze; and violations that are repeated.
 */
import { join } from "node:path";
import { expect, it } from "vitest";
import { decodeStateRow, type StateRow } from "../../../engine/custody/mpc/state/state-row.js";
import { STATE_NAMESPACE } from "../../../engine/custody/provider/share-row.js";
import { createSystemClock } from "../../../engine/domain/clock.js";
import { openLmdbStore } from "../../../engine/storage/lmdb-store.js";
import {
  type CosignerProcess,
  type CustodyBench,
  type CustodyPlace,
  editParty,
  madeWallet,
  onceServed,
  outcomeOf,
  type WalletCaller,
  type WalletFields,
} from "../support/custody-bench.js";
import { benchOfFile, MESSAGE, signerOf } from "../support/custody-file.js";
import { FALSE_PARTY, FalseParty } from "../support/false-party.js";
import type { MadeKey, ServeProcess } from "../support/serve-bench.js";

let bench: CustodyBench;
benchOfFile(23, (made) => {
  bench = made;
});

type Side = "service" | "cosigner";

/** Both parties as processes of their own, each false where it is ordered to be. */
class FalsePair {
  readonly place: CustodyPlace;
  readonly service: FalseParty;
  readonly cosigner: FalseParty;
  #service: ServeProcess | null = null;
  #cosigner: CosignerProcess | null = null;
  #key: MadeKey | null = null;

  constructor(name: string) {
    const place = bench.place(name);
    const party = (side: Side) => new FalseParty(bench.serve.compiled(FALSE_PARTY), join(place.folder, `${side}.json`));
    this.service = party("service");
    this.cosigner = party("cosigner");
    this.place = { ...place, inside: this.service.inside };
  }

  async start(side: Side): Promise<void> {
    const { place } = this;
    if (side === "cosigner") {
      this.#cosigner = await bench.cosignerProcess(place, this.cosigner.inside);
      // The service looks for it there from then on.
      const port = Number(new URL(this.#cosigner.environment["COSIGNER_URL"] ?? "").port);
      editParty(place.cosigner, (members) => ({ ...members, port }));
    } else this.#service = await bench.start(place, this.#cosigner?.environment);
  }

  /** Resolves once the one that is to die has, by that signal. */
  async killed(side: Side): Promise<void> {
    const running = side === "service" ? this.#service : this.#cosigner?.running;
    const { code } = (await running?.ended) ?? { code: 0 };
    expect([code, running?.child.signalCode]).toEqual([null, "SIGKILL"]);
  }

  get log(): string {
    return `${this.#service?.stdout}${this.#service?.stderr}`;
  }

  /** Of the service that runs. */
  async caller(): Promise<WalletCaller> {
    this.#key ??= await bench.createKey(this.place, ["read", "sign", "admin"]);
    if (this.#service === null) throw new Error("no service");
    return bench.caller(this.#service, this.#key);
  }

  /** What a party that is gone has stored of the wallet. */
  async stored(side: Side, { walletId }: WalletFields): Promise<StateRow | null> {
    const directory = side === "service" ? this.place.dataDir : join(this.place.cosigner, "data");
    const store = openLmdbStore({ directory, clock: createSystemClock() });
    const row = await store.get(STATE_NAMESPACE, walletId.replaceAll("-", ""));
    await store.close();
    return row === null ? null : decodeStateRow(row);
  }

  /** States at both, by the wallet. */
  async states({ walletId }: WalletFields): Promise<readonly string[]> {
    const held = await bench.wallets(this.place);
    const stateAt = (side: Side) => held[side].find((wallet) => wallet.walletId === walletId)?.state ?? "none";
    return [stateAt("service"), stateAt("cosigner")];
  }
}

const sign = (caller: WalletCaller, { walletId }: WalletFields) => caller.sign(walletId, { message: MESSAGE });
const signed = (caller: WalletCaller, wallet: WalletFields) => onceServed(() => sign(caller, wallet));

/** What a caller may hear of a signature whose party is killed. */
const UNSIGNED = ["no reply", "503 SIGNER_UNAVAILABLE", "423 WALLET_FROZEN"];
/** psi of F4, which S finds in the final signature, and w of F5, which C finds there. */
const CHEATS = { service: { name: "f4", fromEnd: 65 }, cosigner: { name: "f5", fromEnd: 1 } } as const;

it.each([
  ["service", "service"],
  ["co-signer", "cosigner"],
] as const)(
  "the %s that is killed between a failed check and its freeze counts it, and freezes at the next; behind its freeze it stays frozen",
  async (_, side) => {
    const pair = new FalsePair(`killed-${side}`);
    const [own, other] = side === "service" ? [pair.service, pair.cosigner] : [pair.cosigner, pair.service];
    await pair.start("cosigner");
    await pair.start("service");
    let caller = await pair.caller();
    const [before, behind] = [await madeWallet(caller, "before"), await madeWallet(caller, "behind")];
    for (const wallet of [before, behind]) expect(await signerOf(await signed(caller, wallet))).toBe(wallet.address);

    const killed = async (wallet: WalletFields, dies: "before" | "after") => {
      other.order({ flips: CHEATS[side] });
      own.order({ dies });
      let isGone = false;
      const gone = pair.killed(side).then(() => {
        isGone = true;
      });
      const replies: Promise<string>[] = [];
      // On a machine that stands still a session may end before its check.
      while (!isGone) {
        const reply = sign(caller, wallet).then(
          (told) => outcomeOf(told).join(" "),
          () => "no reply",
        );
        replies.push(reply);
        await Promise.race([gone, reply]);
      }
      await gone;
      own.order({});
      return { stored: await pair.stored(side, wallet), replies };
    };

    const first = await killed(before, "before");
    expect(first.stored).toMatchObject({ status: "active", openAborts: 1 });
    await pair.start(side);
    caller = await pair.caller();
    for (const reply of await Promise.all(first.replies)) expect(UNSIGNED).toContain(reply);
    expect(outcomeOf(await signed(caller, before))).toEqual([423, "WALLET_FROZEN"]);
    await expect.poll(() => pair.states(before)).toEqual(["FROZEN", "FROZEN"]);

    const second = await killed(behind, "after");
    expect(second.stored).toMatchObject({ status: "frozen" });
    // From here on no check fails: whoever is frozen is so by what was durable.
    other.order({});
    await pair.start(side);
    caller = await pair.caller();
    for (const reply of await Promise.all(second.replies)) expect(UNSIGNED).toContain(reply);
    for (const wallet of [behind, before]) {
      expect(outcomeOf(await signed(caller, wallet))).toEqual([423, "WALLET_FROZEN"]);
      await expect.poll(() => pair.states(wallet)).toEqual(["FROZEN", "FROZEN"]);
    }
  },
);

it("violations are 500 three times, then the wallet is refused with 503 and an alert, and is not frozen", async () => {
  const pair = new FalsePair("violations");
  await pair.start("cosigner");
  await pair.start("service");
  const caller = await pair.caller();
  const [wallet, other] = [await madeWallet(caller, "alice"), await madeWallet(caller, "bob")];
  expect(await signerOf(await signed(caller, wallet))).toBe(wallet.address);
  // The hash of F6: no field of the cheat list.
  pair.cosigner.order({ flips: { name: "f6", fromEnd: 1 } });
  for (let at = 0; at < 3; at++) {
    expect(pair.log).not.toContain("VIOLATIONS");
    expect(outcomeOf(await signed(caller, wallet))).toEqual([500, "FAILED_TO_SIGN"]);
  }
  // The log comes by a pipe of its own.
  await expect.poll(() => pair.log).toMatch(/"what":"VIOLATIONS","event":"custody\.alert"/);
  pair.cosigner.order({});
  for (let at = 0; at < 2; at++) {
    const refused = await sign(caller, wallet);
    expect([...outcomeOf(refused), Number(refused.headers["retry-after"]) > 0]).toEqual([
      ...[503, "SIGNER_UNAVAILABLE"],
      true,
    ]);
  }
  const metrics = (await caller.ask("/metrics")).text;
  expect(/^unwind_signatures_total\{outcome="violation"\} (\d+)$/m.exec(metrics)?.[1]).toBe("3");
  // It is the wallet's alone, and no freeze.
  expect(await signerOf(await signed(caller, other))).toBe(other.address);
  expect(await pair.states(wallet)).toEqual(["ACTIVE", "ACTIVE"]);
});
