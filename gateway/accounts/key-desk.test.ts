/** Keys at venues under an Idempotency-Key over a crash; what goes over HTTP is in gateway/test/venue-keys.test.ts. */
import { expect, it } from "vitest";
import { KeyBook } from "../../engine/custody/registration/key-book.js";
import { KeyTurns } from "../../engine/custody/registration/key-turns.js";
import { KeyRegistrations } from "../../engine/custody/registration/registrations.js";
import { FakeVenue, signatureOf } from "../../engine/custody/registration/test/fake-venue.js";
import { plainSealer } from "../../engine/custody/provider/test/plain-sealer.js";
import type { Wallet } from "../../engine/custody/provider/wallet-provider.js";
import { seededRandom } from "../../engine/custody/sealing/test/sealing-doubles.js";
import { silentLogger } from "../../engine/domain/logger.js";
import { Owners } from "../../engine/domain/owner.js";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import { createKeyedHash } from "../../engine/storage/server-secret.js";
import { createMemoryStore } from "../../engine/storage/test/memory-store.js";
import { TestActs } from "../test/test-wallets.js";
import { KeyDesk } from "./key-desk.js";
import { KeyedRequests } from "./keyed-requests.js";
import type { WalletCall } from "./wallet-desk.js";

const ACCOUNT = "0x00000000000000000000000000000000000000aa";
const WALLET = { walletId: "5f0c7c3e-6f6b-4f0e-9a53-0a4c8f1f2d10", address: ACCOUNT, ownerId: null } as Wallet;
const never = new Promise<never>(() => {});

function stand() {
  const [store, clock, acts, logger] = [createMemoryStore(), new VirtualClock(), new TestActs(), silentLogger];
  const venue = new FakeVenue(clock, "long");
  venue.funded.add(ACCOUNT);
  let boots = 0;
  const sign = async (_id: string, _origin: string, { text = "" }: { text?: string }) => ({
    signature: signatureOf(ACCOUNT, text),
    digest: "",
  });
  return {
    ...{ store, venue, clock, acts },
    /** As after a restart. */
    async open(): Promise<KeyDesk> {
      const book = new KeyBook(store);
      await book.load();
      const registrations = new KeyRegistrations(
        {
          ...{
            book,
            clock,
            logger,
            random: seededRandom(++boots),
            sealer: { ...plainSealer, kekId: "", rewrap: () => null },
          },
          ...{ provider: { sign } as never, registrars: new Map([["venueone", venue.registrar((act) => act())]]) },
        },
        new KeyTurns(),
      );
      const keyed = new KeyedRequests({
        ...{ owners: new Owners(), store, clock, logger, hash: createKeyedHash(Buffer.alloc(32, 7)) },
        randomIds: { randomHex128: () => String(boots).padStart(32, "0") },
      });
      return new KeyDesk({ registrations, keyed, logger, appendAct: acts.append });
    },
  };
}

const call = (requestId: string, idempotencyKey: string | null): WalletCall => ({
  ...{ ownerId: null, keyId: null, requestId, idempotencyKey },
  boundBytes: Buffer.from("POST /api/trading/venueone/apikey/rotate\n{}"),
});

it.each(["register", "rotate"] as const)(
  "a crash before the reply of a %s was kept leads to the key that it made, without the secret, and to no further one",
  async (act) => {
    const { store, venue, open } = stand();
    if (act === "rotate") await (await open()).register(WALLET, "venueone", true, call("r-0", null));
    const before = venue.approvals;
    store.gate = async ({ writes }) => {
      const isKept = writes.some(({ namespace }) => namespace === "wallet-requests");
      if (isKept && venue.approvals > before) await never;
    };
    void (await open())[act](WALLET, "venueone", true, call("r-1", "k"));
    await expect.poll(() => venue.approvals).toBe(before + 1);
    for (let turn = 0; turn < 50; turn++) await Promise.resolve();
    store.gate = async () => {};
    const desk = await open();
    const answer = await desk[act](WALLET, "venueone", true, call("r-2", "k"));
    expect([answer.replayed, answer.secretHex, venue.approvals]).toEqual([true, null, before + 1]);
    expect(desk.list(WALLET.walletId).map(({ signer }) => signer)).toContain(answer.key.signer);
    // Another request rotates on.
    if (act === "rotate") await desk.rotate(WALLET, "venueone", true, call("r-3", "another"));
    expect(venue.approvals).toBe(before + (act === "rotate" ? 2 : 1));
  },
);

it("what the venue has not said yet leaves a row that says so: unknown is not failed", async () => {
  const { venue, clock, acts, open } = stand();
  const desk = await open();
  venue.weather = () => "lost";
  const asked = desk.register(WALLET, "venueone", true, call("r-1", "k")).catch((error: unknown) => error);
  for (let passedMs = 0; passedMs < 20_000; passedMs += 500) await clock.advanceAsync(500);
  expect(await asked).toMatchObject({ code: "REGISTRATION_UNSETTLED" });
  const details = { exchange: "venueone", code: "REGISTRATION_UNSETTLED" };
  expect(acts.rows).toMatchObject([{ what: "venue-key.register", outcome: "pending", details }]);
  venue.weather = () => "fine";
  const again = desk.register(WALLET, "venueone", true, call("r-2", "k"));
  for (let passedMs = 0; passedMs < 20_000; passedMs += 500) await clock.advanceAsync(500);
  expect((await again).secretHex).toMatch(/^0x/);
  expect(acts.rows.map(({ outcome }) => outcome)).toEqual(["pending", "done"]);
});

/** While the venue's clock goes on. */
async function passed<T>(clock: VirtualClock, asked: Promise<T>): Promise<T | unknown> {
  const outcome = asked.catch((error: unknown) => error);
  for (let passedMs = 0; passedMs < 20_000; passedMs += 500) await clock.advanceAsync(500);
  return outcome;
}

it.each(["register", "rotate"] as const)(
  "a %s that was told of a key which another request began is repeated as that, also over a crash",
  async (act) => {
    const { store, venue, clock, open } = stand();
    if (act === "rotate") await (await open()).register(WALLET, "venueone", true, call("r-0", null));
    const before = venue.approvals;
    const first = await open();
    venue.weather = () => "lost";
    expect(await passed(clock, first[act](WALLET, "venueone", true, call("r-1", "one")))).toMatchObject({
      code: "REGISTRATION_UNSETTLED",
    });
    venue.weather = () => "fine";
    store.gate = async ({ writes }) => {
      const isKept = writes.some(({ namespace }) => namespace === "wallet-requests");
      if (isKept && venue.approvals > before) await never;
    };
    void first[act](WALLET, "venueone", true, call("r-2", "two"));
    for (let passedMs = 0; passedMs < 20_000; passedMs += 500) await clock.advanceAsync(500);
    expect(venue.approvals).toBe(before + 1);
    store.gate = async () => {};
    const desk = await open();
    if (act === "rotate") {
      await desk.rotate(WALLET, "venueone", true, call("r-4", "another"));
      expect(venue.approvals).toBe(before + 2);
    }
    const after = venue.approvals;
    for (const key of ["two", "one"]) {
      const answer = await passed(clock, desk[act](WALLET, "venueone", true, call("r-3", key)));
      expect(answer, key).toMatchObject({ replayed: true, secretHex: null });
    }
    expect(venue.approvals).toBe(after);
  },
);
