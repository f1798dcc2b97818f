/** Which rooms give wallets keys, and what operators set about them. */
import { describe, expect, it } from "vitest";
import { silentLogger } from "../engine/domain/logger.js";
import { createSeededRandom } from "../engine/domain/random.js";
import { VirtualClock } from "../engine/domain/virtual-clock.js";
import { isKeyRoom, type KeyRegistrar } from "../engine/key-registrar.js";
import { VENUES } from "./registry.js";
import type { VenueDescriptor } from "./shared/room/venue-descriptor.js";
import { createMemoryReservations } from "./shared/test/memory-reservations.js";

const DAY_MS = 86_400_000;
const ACCOUNT = `0x${"a".repeat(40)}`;

function descriptorOf(venue: string): VenueDescriptor {
  const found = VENUES.find((descriptor) => descriptor.venue === venue);
  if (found === undefined) throw new Error(`no ${venue}`);
  return found;
}

/** `values` over the defaults. */
function reading({ options, read }: VenueDescriptor, values: Readonly<Record<string, unknown>>) {
  const defaults = Object.entries(options).map(([name, option]) => [name, option.default]);
  return read({ ...Object.fromEntries(defaults), ...values });
}

/** Null: its venue gives wallets no keys. */
async function keysOf(venue: string, values: Readonly<Record<string, unknown>> = {}): Promise<KeyRegistrar | null> {
  const room = reading(descriptorOf(venue), values).createRoom({
    clock: new VirtualClock(),
    random: createSeededRandom(1),
    logger: silentLogger,
    nonces: createMemoryReservations(),
    symbols: [],
    fees: null,
  });
  const keys = isKeyRoom(room) ? room.keys : null;
  await room.stop();
  return keys;
}

function lifeMs(keys: KeyRegistrar | null): number | null {
  if (keys?.kind !== "agent") throw new Error("no agents");
  return keys.draft({ account: ACCOUNT, name: "unwind-1", nowMs: 0 }, new Uint8Array(32).fill(1))?.expiresAtMs ?? null;
}

describe("rooms that give wallets keys", () => {
  it("are two, by agents unless the operator says otherwise", async () => {
    const kinds = await Promise.all(VENUES.map(async ({ venue }) => [venue, (await keysOf(venue))?.kind] as const));
    expect(Object.fromEntries(kinds.filter(([, kind]) => kind !== undefined))).toEqual({
      venueone: "agent",
      venuetwo: "agent",
    });
    expect((await keysOf("venuetwo", { VENUETWO_KEY_FLOW: "v1" }))?.kind).toBe("issued");
  });

  it.each(["venueone", "venuetwo"])("give them for as long as the operator sets: %s", async (venue) => {
    expect(lifeMs(await keysOf(venue))).toBe(90 * DAY_MS);
    expect(lifeMs(await keysOf(venue, { [`${venue.toUpperCase()}_AGENT_DAYS`]: 7 }))).toBe(7 * DAY_MS);
  });
});

describe("the addresses from which agents may withdraw", () => {
  const problemsOf = (list: readonly string[]) =>
    reading(descriptorOf("venuetwo"), { VENUETWO_AGENT_IP_WHITELIST: list }).problems;

  it.each([
    [[]],
    [["192.0.2.10"]],
    [["192.0.2.10", "198.51.100.0/24", "0.0.0.0/0"]],
    [["2001:db8::1", "2001:db8::/32"]],
  ])("are taken: %j", (list) => {
    expect(problemsOf(list)).toEqual([]);
  });

  it.each([
    "192.0.2.10 198.51.100.1",
    "192.0.2",
    "192.0.2.10/33",
    "192.0.2.10/",
    "192.0.2.10/08",
    "192.0.2.10/8/8",
    "2001:db8::/129",
    "fe80::1%eth0",
    "host.example",
    "192.0.2.10&canWithdraw=true",
  ])("are refused at the start: %s", (entry) => {
    expect(problemsOf(["192.0.2.1", entry])).toEqual([expect.stringMatching(/^VENUETWO_AGENT_IP_WHITELIST must be/)]);
  });

  it("reach the text that the wallet signs, as the venue wants them", async () => {
    const keys = await keysOf("venuetwo", { VENUETWO_AGENT_IP_WHITELIST: ["192.0.2.10", "198.51.100.0/24"] });
    if (keys?.kind !== "agent") throw new Error("no agents");
    const key = { account: ACCOUNT, signer: ACCOUNT, name: "unwind-1", expiresAtMs: 1 };
    const made = await keys.approval(key);
    expect(made).toMatchObject({
      ok: true,
      act: { toSign: { text: expect.stringContaining("canWithdraw=true&ipWhitelist=192.0.2.10 198.51.100.0/24") } },
    });
  });
});
