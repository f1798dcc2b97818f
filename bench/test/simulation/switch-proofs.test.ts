/**
 * Only credentials that the venue has proven to belong to an account arm, and so replace, its dead-man's switch: a
 * request that merely names a wallet or a vault is refused before the account's switch is touched. Rooms against their
 * local venues.
 */
import { afterEach, describe, expect, it } from "vitest";
import { createSystemClock } from "../../../engine/domain/clock.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { accountBehind, type AccountBehind } from "../../../engine/orders/decide/account-behind.js";
import type { VenueRoom } from "../../../engine/ports.js";
import type { KeyedHash } from "../../../engine/storage/keyed-hash.js";
import { createMemoryReservations } from "../../../feeds/shared/test/memory-reservations.js";
import { createVenuefourRoom } from "../../../feeds/venuefour/room.js";
import { createVenueoneRoom } from "../../../feeds/venueone/room.js";
import { keyPairOf } from "../../sim/venuefour/records/keys.js";
import { startVenuefourSim } from "../../sim/venuefour/sim.js";
import { KEYS, startBench } from "../../sim/venueone/test/kit.js";
import { open, PATIENT } from "../support/trading-half.js";

const clock = createSystemClock();
const hash: KeyedHash = { hmacHex: (purpose, parts) => JSON.stringify([purpose, ...parts.map(String)]) };

let stops: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const stop of stops.reverse()) await stop();
  stops = [];
});

/** The question of #prepareSwitch before it touches a switch. */
function behind(room: VenueRoom, credentials: unknown): Promise<AccountBehind> {
  return accountBehind({ clock, hash }, room, open(room, credentials), PATIENT);
}

async function namesOf(room: VenueRoom, all: readonly unknown[]): Promise<readonly (string | null)[]> {
  const names: (string | null)[] = [];
  for (const credentials of all) {
    const who = await behind(room, credentials);
    names.push(who.ok ? who.accountHash : null);
  }
  return names;
}

describe("venuefour", () => {
  const WALLET = keyPairOf(Buffer.alloc(32, 1));
  const AGENT = keyPairOf(Buffer.alloc(32, 2));
  const SECOND_AGENT = keyPairOf(Buffer.alloc(32, 4));
  const BOGUS = keyPairOf(Buffer.alloc(32, 3));
  const of = (key: typeof WALLET) => ({
    apiKey: key.publicKey,
    apiSecret: key.secret,
    walletAddress: WALLET.publicKey,
  });

  async function start(): Promise<VenueRoom> {
    const sim = await startVenuefourSim({
      seed: 9,
      symbols: ["BTC"],
      accounts: [
        { walletAddress: WALLET.publicKey, agents: [AGENT.publicKey, SECOND_AGENT.publicKey], deposit: "1000000" },
      ],
    });
    const random = createSeededRandom(5);
    const room = createVenuefourRoom({
      restUrl: sim.restUrl,
      wsUrl: sim.wsUrl,
      symbols: ["BTC"],
      clock,
      random,
      logger: silentLogger,
    });
    await room.start();
    stops.push(
      () => sim.stop(),
      () => room.stop(),
    );
    return room;
  }

  it("refuses a key that is bound to nobody and names another's wallet", async () => {
    const room = await start();
    const bogus = await behind(room, of(BOGUS));
    expect(bogus).toMatchObject({ ok: false, error: { code: "MISSING_CREDENTIALS" } });
  });

  it("knows the wallet's own key and its agents for one account", async () => {
    const room = await start();
    const [wallet, agent, second, bogus] = await namesOf(room, [of(WALLET), of(AGENT), of(SECOND_AGENT), of(BOGUS)]);
    expect(wallet).not.toBeNull();
    expect([agent, second]).toEqual([wallet, wallet]);
    // A request that only names the same wallet does not learn what two have proved.
    expect(bogus).toBeNull();
  });
});

describe("venueone", () => {
  it("refuses a key that names a sub-account of another", async () => {
    const virtual = new VirtualClock(Date.now());
    const local = await startBench({ clock: virtual });
    const created = await local.act(
      KEYS.alice,
      { type: "createSubAccount", name: "desk" },
      { nonce: virtual.wallMs() },
    );
    const vaultAddress = (created as { readonly response: { readonly data: string } }).response.data;
    const room = createVenueoneRoom({
      restUrl: local.sim.restUrl,
      wsUrl: local.sim.wsUrl,
      isMainnet: true,
      symbols: ["BTC"],
      clock: virtual,
      random: createSeededRandom(1),
      logger: silentLogger,
      nonces: createMemoryReservations(),
    });
    stops.push(
      () => local.stop(),
      () => room.stop(),
    );
    const names = [KEYS.alice, KEYS.agent, KEYS.bob].map((privateKey) => ({ privateKey, vaultAddress }));
    const [alice, agent, bob] = await namesOf(room, names);
    expect(alice).not.toBeNull();
    expect(agent).toBe(alice);
    expect(bob).toBeNull();
  });
});
