/**
 * What the rest of the program knows of a venue: its name, what an operator may set, how its room is made, what its
 * tickers show, how fast its accounts are polled. Each room exports one (descriptor.ts); feeds/registry.ts lists them.
 * What callers see of it is in its file of `schemas`.
 */
import type { RoomActs } from "../../../engine/custody/policy/venue-acts.js";
import type { Clock } from "../../../engine/domain/clock.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { FeeRates } from "../../../engine/domain/position.js";
import type { Random } from "../../../engine/domain/random.js";
import type { RoutableVenue } from "../../../engine/domain/venue.js";
import type { VenuePace } from "../../../engine/portfolio/portfolio.js";
import type { MarketRoom, NonceReservations } from "../../../engine/ports.js";
import type { RecordingFormat } from "../replay/player.js";
import type { VectorChecks } from "../sign/vector.js";
import type { TickerView } from "./ticker-fields.js";

/** One setting of an operator. Its environment name is the venue in capitals and its own: `{VENUE}_REST_URL`. */
export type VenueOption = (
  | { readonly kind: "boolean"; readonly default: boolean }
  | { readonly kind: "url"; readonly default: string }
  | { readonly kind: "secret"; readonly default: "" }
  /** Basis points as decimal text, at most three decimals; "" when the venue gives it. */
  | { readonly kind: "bps"; readonly default: "" }
  /** Comma-separated. */
  | { readonly kind: "list"; readonly default: readonly string[] }
  | { readonly kind: "word"; readonly words: readonly string[]; readonly default: string }
  | { readonly kind: "integer"; readonly min: number; readonly max: number; readonly default: number }
) & { readonly doc: string };

type VenueOptions = Readonly<Record<string, VenueOption>>;

/** Parsed values by the option's own name. */
export type VenueValues<Options extends VenueOptions> = {
  readonly [Name in keyof Options]: Options[Name]["default"] extends boolean
    ? boolean
    : Options[Name]["default"] extends number
      ? number
      : Options[Name]["default"] extends readonly unknown[]
        ? readonly string[]
        : string;
};

/** Given to every room alike. */
export interface RoomParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly nonces: NonceReservations;
  /** Canonical symbols to follow, or all that the venue lists. */
  readonly symbols: "all" | readonly string[];
  /** The operator's rates; null when the venue gives them. */
  readonly fees: FeeRates | null;
}

interface Definition<Options extends VenueOptions> {
  readonly venue: RoutableVenue;
  readonly ticker: TickerView;
  readonly paces: VenuePace;
  readonly readsNameAccount?: true;
  readonly vectors: VectorChecks;
  readonly recordings?: readonly RecordingFormat[];
  readonly custodyActs?: RoomActs;
  readonly options: Options;
  createRoom(parts: RoomParts, values: VenueValues<Options>): MarketRoom;
  /** What is wrong between options, a sentence each, with `name` making the environment name of one. */
  problems?(values: VenueValues<Options>, name: (option: keyof Options & string) => string): readonly string[];
  /** Is its ticker answered with 401 because of what was not set (interface spec 5.5)? */
  refusesTicker?(values: VenueValues<Options>): boolean;
}

/** Options that every venue has, which the shell reads itself. */
export interface CommonValues {
  readonly ENABLED: boolean;
  readonly TAKER_FEE_BPS: string;
  readonly MAKER_FEE_BPS: string;
}

export interface VenueDescriptor {
  readonly venue: RoutableVenue;
  readonly ticker: TickerView;
  /**
   * Looks a minute over all accounts that are polled here: about a sixth of what the venue grants, all of it in the lanes
   * `read` and `background`, whose share no look can exceed, whatever the number here.
   */
  readonly paces: VenuePace;
  /** A read names the account of a key. */
  readonly readsNameAccount: boolean;
  /** For `npm run conformance`. */
  readonly vectors: VectorChecks;
  /** For `npm run replay`. */
  readonly recordings: readonly RecordingFormat[];
  /** What a wallet signs for the venue beside orders, for the co-signer's policy; null: nothing. */
  readonly custodyActs: RoomActs | null;
  /** By environment name, in the order of docs/configuration.md. */
  readonly options: VenueOptions;
  /** `values`: parsed, by environment name. */
  read(values: Readonly<Record<string, unknown>>): VenueReading;
}

/** The settings of one venue as an operator wrote them. */
export interface VenueReading {
  readonly common: CommonValues;
  readonly problems: readonly string[];
  readonly refusesTicker: boolean;
  createRoom(parts: RoomParts): MarketRoom;
}

/** The first and the last options of every venue, and its own between them. */
export function defineVenue<const Options extends VenueOptions>(definition: Definition<Options>): VenueDescriptor {
  const { venue, ticker, paces, vectors, readsNameAccount = false } = definition;
  const { recordings = [], custodyActs = null } = definition;
  const nameOf = (option: string): string => `${venue.toUpperCase()}_${option}`;
  const rows: VenueOptions = {
    ENABLED: { kind: "boolean", default: true, doc: `Run the ${venue} room.` },
    ...definition.options,
  };
  return {
    venue,
    ticker,
    paces,
    readsNameAccount,
    vectors,
    recordings,
    custodyActs,
    options: Object.fromEntries(Object.entries(rows).map(([option, row]) => [nameOf(option), row])),
    read(values) {
      const own = ownValues(Object.keys(rows), nameOf, values);
      const typed = own as VenueValues<Options>;
      return {
        common: own as unknown as CommonValues,
        problems: definition.problems?.(typed, nameOf) ?? [],
        refusesTicker: definition.refusesTicker?.(typed) ?? false,
        createRoom: (parts) => definition.createRoom(parts, typed),
      };
    },
  };
}

/** Settings by which a venue is reached at these URLs alone, whatever hosts it has: at a local venue one serves all. */
export function urlSettings(
  { options }: Pick<VenueDescriptor, "options">,
  { restUrl, wsUrl }: { readonly restUrl: string; readonly wsUrl: string },
): Readonly<Record<string, string>> {
  const names = Object.entries(options).flatMap(([name, { kind }]) => (kind === "url" ? [name] : []));
  return Object.fromEntries(names.map((name) => [name, name.endsWith("_WS_URL") ? wsUrl : restUrl]));
}

/**
 * Apart from `read`: what a closure there captures lives as long as `createRoom`, and the values of all options, secrets
 * among them, are not to.
 */
function ownValues(
  options: readonly string[],
  nameOf: (option: string) => string,
  values: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return Object.fromEntries(options.map((option) => [option, values[nameOf(option)]]));
}

/** Of every venue alike. */
export const FEE_OPTIONS = {
  TAKER_FEE_BPS: {
    kind: "bps",
    default: "",
    doc: "Taker rate where the account's own is not known; empty: the venue's published base rate. Set together with the maker rate.",
  },
  MAKER_FEE_BPS: { kind: "bps", default: "", doc: "Maker rate, likewise; negative for a rebate." },
} as const;

export const HTTP_CONNECTIONS = {
  kind: "integer",
  min: 1,
  max: 1024,
  default: 64,
  doc: "REST connections at most, opened as needed.",
} as const;

/** Of a venue whose wallets have keys of their own. */
export const AGENT_DAYS = {
  kind: "integer",
  min: 1,
  max: 179,
  default: 90,
  doc: "Life in days of a key that trades for a server wallet here. It ends by itself, so rotate it before.",
} as const;

/** Of a budget per minute. */
export const BUDGET_MAX = 1_000_000_000;
