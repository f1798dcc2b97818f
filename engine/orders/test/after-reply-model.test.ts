/**
 * What comes after a reply, under the judge of it: the service as it is, which it must not blame, and one planted fault
 * for each class that the judge has a check for. The check sees it, and with the check taken out nothing does.
 *
 * Four local venues in real time meet few of these: a process dies between a stop and its word, a read that lags behind
 * an end, a listing that comes after the start. Here each is certain.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import { AFTER_SCENES, type AfterScene, Listing } from "./after-reply-scenes.js";
import { type AfterCheck, change, judgeAfter, MINUTE_MS } from "./after-reply.js";
import { FakeStreams } from "./fake-streams.js";
import { FakeVenue } from "./fake-venue.js";
import { createRowSink, rowFaults } from "./row-sink.js";
import { createDesk, type DeskHarness, orderContext, orderName } from "../single/test/desk-harness.js";
import { ExecutionLookup } from "../request/execution-lookup.js";
import { OrderFollows } from "../follow/order-follows.js";
import { OrderListeners } from "../follow/order-listeners.js";
import { ProtectionWatch } from "../protect/watch.js";
import { Resolver } from "../send/resolver.js";

type Fault =
  | "guards left"
  | "undo not awaited"
  | "one undo"
  | "rest stays"
  | "older price"
  | "older is taken"
  | "unpriced is taken"
  | "pauses grow"
  | "streams tell all"
  | "given up"
  | null;

/** `takesLagging`: a look takes what shows less than is known. */
const planted = vi.hoisted((): { fault: Fault; isPushed: boolean; takesLagging: boolean } => ({
  fault: null,
  isPushed: false,
  takesLagging: false,
}));

vi.mock(import("../order-parts.js"), async (load) => {
  const parts = await load();
  return { ...parts, isBehind: (known, seen) => !planted.takesLagging && parts.isBehind(known, seen) };
});

vi.mock(import("../conclude/protection-parts.js"), async (load) => {
  const parts = await load();
  return {
    ...parts,
    guardsToTakeBack: (run) => (planted.fault === "guards left" ? [] : parts.guardsToTakeBack(run)),
    awaitsProtection: (run) => {
      const attempts =
        planted.fault === "undo not awaited" ? run.attempts.filter(({ role }) => role !== "UNDO") : run.attempts;
      return parts.awaitsProtection({ ...run, attempts });
    },
    partsToClose: (run) =>
      planted.fault === "one undo" && run.attempts.some(({ role }) => role === "UNDO") ? [] : parts.partsToClose(run),
  };
});

vi.mock(import("../protect/entry-cancel.js"), async (load) => {
  const cancel = await load();
  return {
    ...cancel,
    cancelRest: async (...of) => (planted.fault === "rest stays" ? undefined : cancel.cancelRest(...of)),
  };
});

vi.mock(import("../attempt-figures.js"), async (load) => {
  const figures = await load();
  return {
    ...figures,
    /** To what a stream tells in the same turn, nothing is older. */
    filledLots: (attempt) => (planted.fault === "older is taken" && planted.isPushed ? 0 : figures.filledLots(attempt)),
  };
});

vi.mock(import("../send/fill-price.js"), async (load) => {
  const prices = await load();
  return {
    ...prices,
    /** As much as is known by now, whatever the read shows. */
    applyPrice: (parts, attempt, found) => {
      const isOlder = found !== null && attempt.order !== null && found.filledLots < attempt.order.filledLots;
      const { filledLots } = attempt.order ?? { filledLots: 0 };
      const taken = planted.fault === "older price" && isOlder ? { ...found, filledLots } : found;
      return prices.applyPrice(parts, attempt, taken);
    },
  };
});

vi.mock(import("../send/look-pause.js"), async (load) => {
  const pauses = await load();
  return {
    ...pauses,
    unansweredPauseMs: (silentMs) =>
      planted.fault === "pauses grow" ? Number.POSITIVE_INFINITY : pauses.unansweredPauseMs(silentMs),
    restingPauseMs: (pauseMs, isTold) => pauses.restingPauseMs(pauseMs, planted.fault === "streams tell all" || isTold),
  };
});

vi.mock(import("../send/unknown-order.js"), async (load) => {
  const orders = await load();
  return {
    ...orders,
    unknownOrder: (bounds, run, ...of) =>
      orders.unknownOrder(bounds, planted.fault === "given up" ? { routeId: run.routeId } : run, ...of),
  };
});

vi.mock(import("../run.js"), async (load) => {
  const run = await load();
  return {
    ...run,
    /** In what a stream pushes, taken in the same turn. */
    isPriced: (order) => (planted.fault === "unpriced is taken" && planted.isPushed) || run.isPriced(order),
  };
});

afterEach(() => {
  planted.fault = null;
  planted.takesLagging = false;
  vi.restoreAllMocks();
});

interface Mutant {
  readonly name: string;
  readonly scene: AfterScene;
  /** The check that it is for, then those that see it too. */
  readonly checks: readonly [AfterCheck, ...AfterCheck[]];
  readonly plant: () => void;
}

const fault = (name: Fault) => (): void => {
  planted.fault = name;
};

/** Of every stream: what it tells, and that it does. */
function noteTelling(): void {
  const { tell } = FakeStreams.prototype;
  vi.spyOn(FakeStreams.prototype, "tell").mockImplementation(function (this: FakeStreams, account, event) {
    planted.isPushed = true;
    try {
      tell.call(this, account, event);
    } finally {
      planted.isPushed = false;
    }
  });
}

function loseSilently(): void {
  const { listen } = OrderListeners.prototype;
  vi.spyOn(OrderListeners.prototype, "listen").mockImplementation(function (this: OrderListeners, ...listened) {
    const [key, room, open, one] = listened;
    const untold = Object.create(one, { onLost: { value: () => {} } }) as typeof one;
    return listen.call(this, key, room, open, untold);
  });
}

/** Single trades that a stream tells are nobody's. */
function dropTrades(): void {
  const { tell } = FakeStreams.prototype;
  vi.spyOn(FakeStreams.prototype, "tell").mockImplementation(function (this: FakeStreams, account, event) {
    if (event.kind !== "fill") tell.call(this, account, event);
  });
}

/** Of what is known to have filled the least is remembered that needs a price. */
function readingAnyPrice(): void {
  planted.takesLagging = true;
  const { readPrice } = Resolver.prototype;
  vi.spyOn(Resolver.prototype, "readPrice").mockImplementation(function (this: Resolver, order, session, end) {
    const known = end.kind === "found" && end.order.filledLots > 0 ? { ...end.order, filledLots: 1 } : null;
    return readPrice.call(this, order, session, known === null ? end : { kind: "found", order: known });
  });
}

/** Orders whose contracts were not listed when the process began are not looked at when credentials come by. */
function leaveUnlisted(): void {
  const { meet } = OrderFollows.prototype;
  vi.spyOn(OrderFollows.prototype, "meet").mockImplementation(function (this: OrderFollows<never>, ...met) {
    Listing.isHidden = true;
    try {
      meet.apply(this, met);
    } finally {
      Listing.isHidden = false;
    }
  });
}

/** What a question finds resting is reported, and left. */
function leaveAsked(): void {
  const { ask } = ExecutionLookup.prototype;
  const { consider } = OrderFollows.prototype;
  let asking = 0;
  vi.spyOn(ExecutionLookup.prototype, "ask").mockImplementation(async function (this: ExecutionLookup, ...asked) {
    asking++;
    try {
      return await ask.apply(this, asked);
    } finally {
      asking--;
    }
  });
  vi.spyOn(OrderFollows.prototype, "consider").mockImplementation(function (this: OrderFollows<never>, ...considered) {
    if (asking === 0) consider.apply(this, considered);
  });
}

/** Whatever a venue refuses may pass. */
function forgetLasting(): void {
  const { room } = FakeVenue.prototype;
  vi.spyOn(FakeVenue.prototype, "room").mockImplementation(function (this: FakeVenue, gate) {
    const own = room.call(this, gate);
    const place: typeof own.orders.place = async (...order) => {
      const outcome = await own.orders.place(...order);
      if (outcome.outcome !== "rejected") return outcome;
      const { isLasting: _, ...passing } = outcome;
      return passing;
    };
    return { ...own, orders: { ...own.orders, place } };
  });
}

/** What a venue refuses is refused for good. */
function trustEveryRefusal(): void {
  const { room } = FakeVenue.prototype;
  vi.spyOn(FakeVenue.prototype, "room").mockImplementation(function (this: FakeVenue, gate) {
    const own = room.call(this, gate);
    const place: typeof own.orders.place = async (...order) => {
      const outcome = await own.orders.place(...order);
      return outcome.outcome === "rejected" ? { ...outcome, isLasting: true } : outcome;
    };
    return { ...own, orders: { ...own.orders, place } };
  });
}

const MUTANTS: readonly Mutant[] = [
  {
    name: "a guard is not taken back with the position that it guarded",
    scene: "guardOutlives",
    checks: ["GUARDS"],
    plant: fault("guards left"),
  },
  {
    name: "an undo of unknown outcome is not waited for",
    scene: "undoLost",
    checks: ["BARE"],
    plant: fault("undo not awaited"),
  },
  {
    name: "an undo that was refused is not sent again",
    scene: "guardOutlives",
    checks: ["BARE"],
    plant: fault("one undo"),
  },
  {
    name: "the rest of an entry stays whose stop was refused",
    scene: "restOfEntry",
    checks: ["REST"],
    plant: fault("rest stays"),
  },
  {
    name: "what is known is taken back by what is pushed late",
    scene: "olderPushed",
    checks: ["TOLD"],
    plant: () => {
      planted.fault = "older is taken";
      noteTelling();
    },
  },
  {
    name: "an end without its price is taken as it is pushed",
    scene: "pricelessEnd",
    checks: ["PRICED"],
    plant: () => {
      planted.fault = "unpriced is taken";
      noteTelling();
    },
  },
  {
    name: "a price of less than filled is taken for the price of all",
    scene: "laggingPrice",
    // The fill is reported again, with that price.
    checks: ["PRICE", "RECORDED"],
    plant: () => {
      planted.fault = "older price";
      planted.takesLagging = true;
    },
  },
  {
    name: "any price ends the reading of a price",
    scene: "olderRead",
    checks: ["PRICED"],
    plant: readingAnyPrice,
  },
  {
    name: "orders of contracts that are listed later are not taken up when credentials come by",
    scene: "lateListing",
    checks: ["TOLD", "RECORDED"],
    plant: leaveUnlisted,
  },
  {
    name: "an order that a question finds resting is not followed",
    scene: "askedAfter",
    checks: ["TOLD", "RECORDED"],
    plant: leaveAsked,
  },
  {
    name: "of two copies of a run the older one goes on",
    scene: "crashAtStop",
    checks: ["TOLD", "RECORDED"],
    plant: () => vi.spyOn(OrderFollows.prototype, "adopt").mockReturnValue(),
  },
  {
    name: "a stop that is wrong in itself is sent again",
    scene: "lastingRefusal",
    checks: ["ONCE"],
    plant: forgetLasting,
  },
  {
    name: "a stop that was refused for a while is not sent again",
    scene: "passingRefusal",
    checks: ["BARE"],
    plant: trustEveryRefusal,
  },
  {
    name: "looks that are not answered put off the next one as others do",
    scene: "arrivesUnread",
    checks: ["TIMELY"],
    plant: fault("pauses grow"),
  },
  {
    name: "the same in the search for an order of unknown outcome",
    scene: "unknownUnread",
    checks: ["TIMELY"],
    plant: fault("pauses grow"),
  },
  {
    name: "the same where the reads go out and the venue fails",
    scene: "unknownFailed",
    checks: ["TIMELY"],
    plant: fault("pauses grow"),
  },
  {
    name: "an entry of unknown outcome is given up like an order without protection",
    scene: "unknownForMinutes",
    checks: ["TIMELY", "BARE", "TOLD", "STORED"],
    plant: fault("given up"),
  },
  {
    name: "an order whose account is streamed is read seldom, whatever its stream missed",
    scene: "filledUnstreamed",
    checks: ["TOLD", "RECORDED"],
    plant: fault("streams tell all"),
  },
  {
    name: "a stream that is lost is told to nobody",
    scene: "filledStreamLost",
    checks: ["TOLD", "RECORDED"],
    plant: loseSilently,
  },
  {
    name: "what a stream tells trade by trade waits for the next read",
    scene: "filledByTrades",
    checks: ["TOLD", "RECORDED"],
    plant: dropTrades,
  },
  {
    name: "looks that are not answered put off the next one, where its stream showed it open",
    scene: "shownOpenFirst",
    checks: ["TIMELY"],
    plant: fault("pauses grow"),
  },
  {
    name: "the end of an unknown order waits for the next look at its entry",
    scene: "unknownUnread",
    checks: ["TIMELY"],
    plant: () => vi.spyOn(ProtectionWatch.prototype, "wake").mockReturnValue(),
  },
  {
    name: "the status counts no orders that are followed",
    scene: "pricelessEnd",
    checks: ["FOLLOWED"],
    plant: () => vi.spyOn(OrderFollows.prototype, "count", "get").mockReturnValue(0),
  },
];

/** Of unknown outcome, and beyond the resolver's time; its caller's question finds it, and then it fills. */
async function askedSingle(): Promise<DeskHarness> {
  const harness = await createDesk({ desk: { records: createRowSink() } });
  const { clock, desk, venue } = harness;
  venue.fate = () => ({ kind: "loseReply" });
  venue.orderReadFailure = () => "VENUE_ERROR";
  const order = await harness.order({ type: "LIMIT", price: "95000", timeInForce: "GTC" });
  await clock.advanceAsync(12 * MINUTE_MS);
  venue.orderReadFailure = () => null;
  const name = orderName(order.clientOrderId ?? order.venueClientOrderId ?? "");
  await harness.run(desk.orderStatus(name, orderContext(clock)));
  change({ one: venue }, 0, { status: "FILLED", filledLots: 250, averagePrice: "95000" });
  await clock.advanceAsync(5 * MINUTE_MS);
  return harness;
}

describe("the judge of what comes after a reply, of single orders,", () => {
  /** No decision is made for a single order. */
  const recordFaults = async ({ store, two, venue }: DeskHarness): Promise<string[]> =>
    (await rowFaults(store, [venue, two])).filter((problem) => !problem.startsWith("a fill without its decision"));

  it("has nothing to say of a desk that is right", async () => {
    expect(await recordFaults(await askedSingle())).toEqual([]);
  });

  it("sees by the record that an order that a question finds resting is not followed", async () => {
    const { consider } = OrderFollows.prototype;
    let count = 0;
    vi.spyOn(OrderFollows.prototype, "consider").mockImplementation(function (
      this: OrderFollows<never>,
      ...considered
    ) {
      // The reply's own comes first, when nothing is known to rest.
      if (count++ === 0) consider.apply(this, considered);
    });
    expect(await recordFaults(await askedSingle())).toEqual([expect.stringContaining("lost: ")]);
    expect(count).toBe(2);
  });
});

describe("the judge of what comes after a reply", () => {
  it.each(Object.keys(AFTER_SCENES) as AfterScene[])(
    "has nothing to say of a service that is right: %s",
    async (scene) => {
      expect([...(await judgeAfter(await AFTER_SCENES[scene]()))]).toEqual([]);
    },
  );

  it.each(MUTANTS)("sees by $checks alone that $name", async ({ checks, plant, scene }) => {
    plant();
    const played = await AFTER_SCENES[scene]();
    const found = await judgeAfter(played);
    expect([...found.keys()].sort()).toEqual([...checks].sort());
    expect([...(await judgeAfter(played, checks))]).toEqual([]);
  });
});
