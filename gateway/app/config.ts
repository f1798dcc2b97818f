/**
 * Configuration, validated at start: the environment takes precedence over one optional JSON file, and the file over
 * the defaults. All problems are found before any is reported. A problem names the option and what is wrong; the value
 * is shown only where it cannot be a secret.
 */
import type { GuardPolicy } from "../../engine/guards/guard-book.js";
import type { FeeRates } from "../../engine/domain/position.js";
import type { RoutableVenue } from "../../engine/domain/venue.js";
import type { MarketRoom } from "../../engine/ports.js";
import { VENUES } from "../../feeds/registry.js";
import type { RoomParts } from "../../feeds/shared/room/venue-descriptor.js";
import { type CustodyConfig, readCustody } from "./config-custody.js";
import type { VenuefiveConfig } from "../../feeds/venuefive/descriptor.js";
import { readClientSigned } from "./config-client-signed.js";
import { readTransfers, type TransferConfig } from "./config-chains.js";
import { type OutsideSignerConfig, readOutsideSigner } from "./config-outside-signer.js";
import { CONTROL_NAMES, type UnknownName, unknownNames } from "./config-names.js";
import type { Option } from "./config-option.js";
import { ALL_OPTIONS, type OptionValues } from "./config-options.js";
import { type Environment, readOption } from "./config-reading.js";
import {
  isCanonicalSymbol,
  readHosts,
  readFees,
  readGuards,
  readQuoteRates,
  readStreamLimits,
  type StreamConfig,
} from "./config-values.js";
import type { BucketRules } from "../http/limiter.js";
import type { LogLevel } from "./log.js";
import { type AccessConfig, readAccess } from "./config-access.js";
import { isSafeUrl } from "./config-urls.js";
import { type Machine, systemMachine } from "./machine.js";

export type Profile = "start" | "serve";

export interface VenueConfig {
  readonly venue: RoutableVenue;
  readonly enabled: boolean;
  /** Null means the venue's published base rates. */
  readonly fees: FeeRates | null;
  createRoom(parts: Omit<RoomParts, "fees">): MarketRoom;
}

export interface RecordingConfig {
  readonly enabled: boolean;
  /** Null means the embedded store. */
  readonly server: { readonly url: string; readonly user: string; readonly password: string } | null;
  readonly database: string;
  /** Null means one server. */
  readonly cluster: { readonly name: string; readonly keeperPath: string } | null;
  readonly spoolBytesMax: number;
  /** Largest size on disk of the embedded store. */
  readonly embeddedBytesMax: number;
  readonly embeddedMemoryBytesMax: number;
}

export interface Config extends AccessConfig {
  readonly profile: Profile;
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
  readonly logLevel: LogLevel;
  readonly allowedHosts: readonly string[];
  readonly symbols: readonly string[];
  readonly venues: readonly VenueConfig[];
  /** Venues whose ticker is 401 because a setting is missing (interface spec 5.5). */
  readonly refusedTickers: ReadonlySet<RoutableVenue>;
  readonly recording: RecordingConfig;
  /** Null: there are no server wallets of the embedded provider. */
  readonly custody: CustodyConfig | null;
  /** Null: there are none of an outside signer. */
  readonly outsideSigner: OutsideSignerConfig | null;
  readonly transfers: TransferConfig;
  /** Null: the venue whose orders its callers sign is not run. */
  readonly clientSigned: VenuefiveConfig | null;
  readonly closeDefaults: {
    readonly maxSlippageBps: number;
    readonly maxQuoteAgeMs: number;
    readonly deadlineMs: number;
  };
  readonly guards: GuardPolicy;
  /** Null means that the store creates and keeps one. */
  readonly serverSecret: Uint8Array | null;
  readonly latencyFactor: number;
  /** Quote asset → parts per million of the common quote. */
  readonly quoteRatePpm: ReadonlyMap<string, number>;
  readonly strictFields: boolean;
  readonly bodyBytesMax: number;
  readonly bodyDeadlineMs: number;
  readonly targetBytesMax: number;
  readonly openBodiesMax: number;
  readonly closesInFlightMax: number;
  readonly executionsInMemoryMax: number;
  readonly shutdownGraceMs: number;
  readonly rateLimits: BucketRules;
  readonly rateLimitCallersMax: number;
  readonly stream: StreamConfig;
  /** From the environment; reported at the start. */
  readonly unknownNames: readonly UnknownName[];
}

export type ConfigResult =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Default path of the file. `UNWIND_CONFIG` names another one, which must then exist. */
export const DEFAULT_CONFIG_FILE = "unwind.config.json";

/** `readFile` returns the file's text, or null if there is none. */
export function readConfig(
  environment: Environment,
  readFile: (path: string) => string | null,
  machine: Machine = systemMachine,
): ConfigResult {
  const problems: string[] = [];
  const { profile, values } = readValues(environment, readFile, problems);
  if (problems.length > 0) return { ok: false, problems };
  const config = {
    ...assemble(values, profile, { machine, readFile }, problems),
    unknownNames: unknownNames(Object.keys(environment)),
  };
  return problems.length > 0 ? { ok: false, problems } : { ok: true, config };
}

/** Every option by its name, each checked on its own. */
export function readValues(
  environment: Environment,
  readFile: (path: string) => string | null,
  problems: string[],
): { readonly profile: Profile; readonly values: AllValues } {
  const profile = readProfile(environment, problems);
  const file = readConfigFile(environment, readFile, problems);
  const values: Record<string, unknown> = {};
  for (const [name, option] of Object.entries<Option>(ALL_OPTIONS))
    values[name] = readOption(name, option, environment, file, problems);
  return { profile, values: values as AllValues };
}

function readProfile(environment: Environment, problems: string[]): Profile {
  const text = environment.UNWIND_PROFILE ?? "start";
  if (text !== "start" && text !== "serve") problems.push("UNWIND_PROFILE must be start or serve");
  return text === "serve" ? "serve" : "start";
}

function readConfigFile(
  environment: Environment,
  readFile: (path: string) => string | null,
  problems: string[],
): Readonly<Record<string, unknown>> {
  const named = environment.UNWIND_CONFIG;
  const path = named === undefined || named === "" ? DEFAULT_CONFIG_FILE : named;
  const text = readFile(path);
  if (text === null) {
    if (path === named) problems.push(`UNWIND_CONFIG: cannot read ${path}`);
    return {};
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    // The parser's message quotes the file, which may hold secrets.
    problems.push(`${path} is not valid JSON`);
    return {};
  }
  if (parsed === null || typeof parsed !== "object" || Array.isArray(parsed)) {
    problems.push(`${path} must hold one JSON object`);
    return {};
  }
  for (const key of Object.keys(parsed)) {
    if (!Object.hasOwn(ALL_OPTIONS, key)) {
      problems.push(
        CONTROL_NAMES.includes(key)
          ? `${path}: ${key} is read from the environment only`
          : `${path}: unknown option ${key}`,
      );
    }
  }
  return parsed as Readonly<Record<string, unknown>>;
}

export type AllValues = OptionValues & Readonly<Record<string, unknown>>;

interface VenueReading {
  readonly venue: RoutableVenue;
  readonly reading: ReturnType<(typeof VENUES)[number]["read"]>;
}

/** Checks the rules between options, then groups their values by the part that uses them. */
function assemble(
  values: AllValues,
  profile: Profile,
  { machine, readFile }: { readonly machine: Machine; readonly readFile: (path: string) => string | null },
  problems: string[],
): Omit<Config, "unknownNames"> {
  const venues = VENUES.map((descriptor) => ({ venue: descriptor.venue, reading: descriptor.read(values) }));
  const access = readAccess(values, profile, machine, problems);
  const isPublic = access.authMode === "public";
  if (profile === "serve") checkUrls(values, problems);
  checkVenues(venues, problems);
  checkRecording(values, problems);
  for (const { reading } of venues) problems.push(...reading.problems);
  checkTexts(values, problems);
  return {
    ...access,
    profile,
    host: values.HOST,
    port: values.PORT,
    dataDir: values.DATA_DIR,
    logLevel: values.LOG_LEVEL as LogLevel,
    allowedHosts: readHosts(values, problems),
    symbols: values.SYMBOLS,
    venues: venues.map((one) => venueConfig(one, problems)),
    refusedTickers: new Set(venues.filter(({ reading }) => reading.refusesTicker).map(({ venue }) => venue)),
    recording: recordingConfig(values),
    custody: readCustody(values, isPublic, readFile, problems),
    outsideSigner: readOutsideSigner(values, { isPublic, machine, readFile }, problems),
    transfers: readTransfers(values, profile === "serve", problems),
    clientSigned: readClientSigned(values, profile === "serve", problems),
    guards: readGuards(values, problems),
    serverSecret: values.SERVER_SECRET === "" ? null : Buffer.from(values.SERVER_SECRET, "hex"),
    quoteRatePpm: readQuoteRates(values.QUOTE_RATES, problems),
    stream: readStreamLimits(values, problems),
    ...tradeConfig(values),
    ...requestConfig(values),
  };
}

/** Keys of venues and of the record travel over these: in the clear only within this machine. The signer's is checked apart. */
function checkUrls(values: AllValues, problems: string[]): void {
  for (const [name, value] of Object.entries(values))
    if (name.endsWith("_URL") && name !== "WALLET_PROVIDER_URL" && typeof value === "string" && !isSafeUrl(value))
      problems.push(`${name} must be https (wss for *_WS_URL) unless it is on this machine: it carries credentials`);
}

function checkVenues(venues: readonly VenueReading[], problems: string[]): void {
  if (venues.some(({ reading }) => reading.common.ENABLED)) return;
  const names = venues.map(({ venue }) => `${venue.toUpperCase()}_ENABLED`);
  problems.push(`at least one of ${names.join(", ")} must be true`);
}

const SQL_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;
const SQL_NAME_RULE = "must be a letter or underscore, then at most 62 letters, digits or underscores";

function checkRecording(values: AllValues, problems: string[]): void {
  if (!SQL_NAME.test(values.CLICKHOUSE_DATABASE)) problems.push(`CLICKHOUSE_DATABASE ${SQL_NAME_RULE}`);
  if (values.CLICKHOUSE_CLUSTER !== "" && !SQL_NAME.test(values.CLICKHOUSE_CLUSTER))
    problems.push(`CLICKHOUSE_CLUSTER ${SQL_NAME_RULE}`);
  if (values.CLICKHOUSE_CLUSTER !== "" && values.CLICKHOUSE_URL === "")
    problems.push("CLICKHOUSE_CLUSTER needs CLICKHOUSE_URL: the embedded store is one server");
  if (!/^(\/[A-Za-z0-9_-]{1,63}){1,8}$/.test(values.CLICKHOUSE_KEEPER_PATH))
    problems.push("CLICKHOUSE_KEEPER_PATH must be a path such as /clickhouse/tables");
}

function checkTexts(values: AllValues, problems: string[]): void {
  if (values.SERVER_SECRET !== "" && !/^[0-9a-fA-F]{64}$/.test(values.SERVER_SECRET))
    problems.push("SERVER_SECRET must be 64 hex digits");
  for (const symbol of values.SYMBOLS) {
    if (!isCanonicalSymbol(symbol))
      problems.push(`SYMBOLS: ${JSON.stringify(symbol)} is no canonical symbol such as BTC`);
  }
}

function venueConfig({ venue, reading }: VenueReading, problems: string[]): VenueConfig {
  const { ENABLED, MAKER_FEE_BPS, TAKER_FEE_BPS } = reading.common;
  const fees = readFees(venue.toUpperCase(), TAKER_FEE_BPS, MAKER_FEE_BPS, problems);
  return { venue, enabled: ENABLED, fees, createRoom: (parts) => reading.createRoom({ ...parts, fees }) };
}

function recordingConfig(values: AllValues): RecordingConfig {
  return {
    enabled: values.RECORDING,
    server:
      values.CLICKHOUSE_URL === ""
        ? null
        : { url: values.CLICKHOUSE_URL, user: values.CLICKHOUSE_USER, password: values.CLICKHOUSE_PASSWORD },
    database: values.CLICKHOUSE_DATABASE,
    cluster:
      values.CLICKHOUSE_CLUSTER === ""
        ? null
        : { name: values.CLICKHOUSE_CLUSTER, keeperPath: values.CLICKHOUSE_KEEPER_PATH },
    spoolBytesMax: values.RECORD_SPOOL_BYTES_MAX,
    embeddedBytesMax: values.RECORD_STORE_BYTES_MAX,
    embeddedMemoryBytesMax: values.RECORD_MEMORY_BYTES_MAX,
  };
}

/** What the order services use: defaults of a request and bounds of what runs at once. */
function tradeConfig(values: AllValues) {
  return {
    closeDefaults: {
      maxSlippageBps: values.MAX_SLIPPAGE_BPS,
      maxQuoteAgeMs: values.MAX_QUOTE_AGE_MS,
      deadlineMs: values.CLOSE_DEADLINE_MS,
    },
    latencyFactor: values.LATENCY_PENALTY_FACTOR,
    closesInFlightMax: values.CLOSES_IN_FLIGHT_MAX,
    executionsInMemoryMax: values.EXECUTIONS_IN_MEMORY_MAX,
    shutdownGraceMs: values.SHUTDOWN_GRACE_MS,
  };
}

/** What the HTTP server admits. */
function requestConfig(values: AllValues) {
  return {
    strictFields: values.STRICT_FIELDS,
    bodyBytesMax: values.BODY_BYTES_MAX,
    bodyDeadlineMs: values.BODY_DEADLINE_MS,
    targetBytesMax: values.TARGET_BYTES_MAX,
    openBodiesMax: values.OPEN_BODIES_MAX,
    rateLimits: {
      read: { perSecond: values.RATE_READ_PER_SECOND, burst: values.RATE_READ_BURST },
      trade: { perSecond: values.RATE_TRADE_PER_SECOND, burst: values.RATE_TRADE_BURST },
      exit: { perSecond: values.RATE_EXIT_PER_SECOND, burst: values.RATE_EXIT_BURST },
      transfer: { perSecond: values.RATE_TRANSFER_PER_SECOND, burst: values.RATE_TRANSFER_BURST },
      anon: { perSecond: values.RATE_ANON_PER_SECOND, burst: values.RATE_ANON_BURST },
    },
    rateLimitCallersMax: values.RATE_CALLERS_MAX,
  };
}
