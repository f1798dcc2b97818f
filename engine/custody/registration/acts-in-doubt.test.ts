/** Acts whose end is not known: copies on their way, refusals between them, clocks, and signers that have not decided. */
import { describe, expect, it } from "vitest";
import { ServiceError } from "../../domain/errors.js";
import type { AgentRegistrar } from "../../key-registrar.js";
import type { Weather } from "./test/fake-venue.js";
import { begun, KeyWorld, OWNER, registered } from "./test/key-world.js";

const DAY_MS = 86_400_000;

/** What becomes of the acts to come, one after another; then `fine`. Looks are answered. */
function weathers(world: KeyWorld, registrar: AgentRegistrar, ...list: Weather[]): AgentRegistrar {
  return {
    ...registrar,
    async send(...call) {
      world.venue.weather = () => list.shift() ?? "fine";
      try {
        return await registrar.send(...call);
      } finally {
        world.venue.weather = () => "fine";
      }
    },
  };
}

const LIMITED = new Array<Weather>(8).fill("limited");

describe("an act that may be on its way", () => {
  it("of approval is not given up for a refusal that leaves its bytes good", async () => {
    const world = new KeyWorld("long");
    world.venue.lateMs = () => 40_000;
    const registrar = weathers(
      world,
      world.venue.registrar((act) => act()),
      "late",
      ...LIMITED,
    );
    const life = await world.live(null, registrar);
    expect(await world.outcome(life, life.registrations.register(OWNER, true))).toBe("REGISTRATION_UNSETTLED");
    await world.clock.advanceAsync(60_000);
    expect(world.venue.live(OWNER.account)).toEqual(
      life.registrations.list(OWNER.walletId).map(({ signer }) => signer),
    );
    expect(await world.outcome(life, life.registrations.register(OWNER, true))).toBe("done");
    await world.judge(life);
    expect(world.venue.approvals).toBe(1);
  });

  it("of revocation does not drop a later key of the same name", async () => {
    const world = new KeyWorld("long");
    world.venue.lateMs = () => 40_000;
    const registrar = weathers(
      world,
      world.venue.registrar((act) => act()),
      "fine",
      "late",
      "limited",
    );
    const life = await world.live(null, registrar);
    expect(await world.outcome(life, life.registrations.register(OWNER, true))).toBe("done");
    // The first copy is late; asked again, the venue is over its limit; then it is not.
    for (let attempt = 0; attempt < 3; attempt++) {
      expect(await world.outcome(life, life.registrations.revoke(OWNER))).toBe("done");
      await world.clock.advanceAsync(3_000);
    }
    expect(await world.outcome(life, life.registrations.register(OWNER, true))).toBe("done");
    await world.clock.advanceAsync(60_000);
    await world.judge(life);
  });
});

it("a key that a revocation finds at the venue does not trade for a moment before it ends", async () => {
  const { world, life } = await begun();
  world.venue.weather = () => "unheard";
  expect(await world.outcome(life, life.registrations.register(OWNER, true))).toBe("REGISTRATION_UNSETTLED");
  expect(world.venue.live(OWNER.account)).toHaveLength(1);
  world.venue.weather = () => "fine";
  const { blocks } = life.registrations;
  const traded: unknown[] = [];
  let changes = 0;
  blocks.listen(OWNER.walletId, () => {
    changes++;
    traded.push(...Object.values(blocks.stored(OWNER.walletId)));
  });
  expect(await world.outcome(life, life.registrations.revoke(OWNER))).toBe("done");
  expect(changes).toBeGreaterThan(0);
  expect(traded).toEqual([]);
  expect(world.venue.live(OWNER.account)).toEqual([]);
  await world.judge(life);
});

describe("a wall clock that is set forward", () => {
  it("ends no key before its time", async () => {
    const { world, life } = await registered();
    life.keeper.start();
    await world.clock.advanceAsync(DAY_MS);
    world.clock.stepWall(100 * DAY_MS);
    expect(Object.keys(await life.registrations.blocks.opened(OWNER.walletId))).toEqual([OWNER.venue]);
    await world.clock.advanceAsync(120_000);
    world.clock.stepWall(-100 * DAY_MS);
    await world.clock.advanceAsync(60_000);
    expect(world.venue.live(OWNER.account)).toHaveLength(1);
    expect(await world.outcome(life, life.registrations.register(OWNER, true))).toBe("API_KEY_EXISTS");
    await world.judge(life);
  });

  it.each(["long", "short"] as const)(
    "gives up no approval that may be on its way to a venue that takes it for a %s time",
    async (style) => {
      const world = new KeyWorld(style);
      world.venue.lateMs = () => 8_000;
      const life = await world.live(
        null,
        weathers(
          world,
          world.venue.registrar((act) => act()),
          "late",
        ),
      );
      const outcome = world.outcome(life, life.registrations.register(OWNER, true));
      await world.clock.advanceAsync(0);
      world.clock.stepWall(3 * DAY_MS);
      await outcome;
      world.clock.stepWall(-3 * DAY_MS);
      life.keeper.start();
      await world.clock.advanceAsync(120_000);
      await world.judge(life);
    },
  );
});

it.each([
  ["people decide on", new ServiceError("APPROVAL_PENDING", { isUnsettled: true })],
  ["the signer may have", new ServiceError("SIGNER_UNAVAILABLE", { isUnsettled: true })],
])("an approval that %s is asked for again as the same act, and never as a second key", async (_what, error) => {
  const { world, life } = await begun();
  world.signerError = error;
  for (let attempt = 0; attempt < 2; attempt++)
    expect(await world.outcome(life, life.registrations.register(OWNER, true))).toBe(error.code);
  const [pending] = life.registrations.list(OWNER.walletId);
  expect(pending).toMatchObject({ status: "APPROVING" });
  world.signerError = null;
  const later = await world.live();
  const key = await later.registrations.register(OWNER, true);
  expect([key.signer, world.signatures, world.venue.approvals]).toEqual([pending?.signer, 1, 1]);
});
