import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { readConfig } from "./config.js";
import type { Environment } from "./config-reading.js";
import type { Option } from "./config-option.js";
import { ALL_OPTIONS } from "./config-options.js";
import { DEFAULT_STREAM_LIMITS } from "../stream/limits.js";

const noFile = () => null;

function problems(environment: Environment, file: string | null = null): readonly string[] {
  const result = readConfig(environment, () => file);
  return result.ok ? [] : result.problems;
}

function config(environment: Environment, file: string | null = null) {
  const result = readConfig(environment, () => file);
  if (!result.ok) throw new Error(result.problems.join("; "));
  return result.config;
}

describe("the reader of the configuration", () => {
  it("needs no setting: the defaults are a whole configuration on loopback", () => {
    expect(config({})).toMatchObject({
      host: "127.0.0.1",
      port: 8080,
      profile: "start",
      dataDir: "./data",
      quoteRatePpm: new Map(),
      serverSecret: null,
    });
  });

  it("takes the environment before the file and the file before the default", () => {
    const file = JSON.stringify({ PORT: 9000, BODY_BYTES_MAX: 2048, VENUEONE_ENABLED: false, SYMBOLS: ["BTC", "ETH"] });
    expect(config({ PORT: "9100" }, file)).toMatchObject({
      port: 9100,
      bodyBytesMax: 2048,
      venues: expect.arrayContaining([expect.objectContaining({ venue: "venueone", enabled: false })]),
      symbols: ["BTC", "ETH"],
    });
  });

  it("lists all problems at once", () => {
    const found = problems(
      {
        PORT: "70000",
        HOST: " ",
        AUTH_MODE: "open",
        VENUEONE_REST_URL: "ftp://x",
        VENUEONE_MAINNET: "maybe",
        RATE_READ_BURST: "1.5",
      },
      JSON.stringify({ BODY_BYTES_MAX: {}, NOT_AN_OPTION: 1, UNWIND_PROFILE: "serve" }),
    );
    expect(found).toEqual([
      "unwind.config.json: unknown option NOT_AN_OPTION",
      "unwind.config.json: UNWIND_PROFILE is read from the environment only",
      "HOST must be non-empty text on one line",
      "PORT must be a whole number from 0 to 65535",
      "AUTH_MODE must be one of public, signed, secret",
      "VENUEONE_REST_URL must be a URL (http or https; ws or wss for *_WS_URL) without user or password",
      "VENUEONE_MAINNET must be true or false",
      "BODY_BYTES_MAX must be a whole number from 1024 to 1048576",
      "RATE_READ_BURST must be a whole number from 1 to 1000000000",
    ]);
  });

  it.each([
    [{ HOST: "0.0.0.0" }, "HOST must be a loopback address"],
    [
      { VENUEONE_ENABLED: "false", VENUETWO_ENABLED: "0", VENUETHREE_ENABLED: "0", VENUEFOUR_ENABLED: "0" },
      "at least one of",
    ],
    [{ VENUETWO_API_KEY: "k" }, "must be set together"],
    [{ VENUEONE_TAKER_FEE_BPS: "4.5" }, "must be set together"],
    [{ VENUEONE_TAKER_FEE_BPS: "4.5555", VENUEONE_MAKER_FEE_BPS: "1" }, "VENUEONE_TAKER_FEE_BPS must be basis points"],
    [{ SYMBOLS: "BTC,eth" }, "SYMBOLS"],
    [{ QUOTE_RATES: "USDT=9" }, "QUOTE_RATES"],
    [{ QUOTE_RATES: "USDT=1,USDT=1" }, "QUOTE_RATES"],
    [{ SERVER_SECRET: "abc" }, "SERVER_SECRET must be 64 hex digits"],
    [{ STREAM_CONNECTIONS_MAX: "0" }, "STREAM_CONNECTIONS_MAX must be a whole number from 1 to 1000000"],
    [{ STREAM_FRAME_BYTES_MAX: "262145" }, "STREAM_FRAME_BYTES_MAX must be a whole number from 1024 to 262144"],
    [
      { STREAM_SOFT_BUFFER_BYTES: "1048576" },
      "STREAM_SOFT_BUFFER_BYTES (1048576) must be less than STREAM_HARD_BUFFER_BYTES (1048576)",
    ],
    [
      { STREAM_FATAL_BUFFER_BYTES: "300000" },
      "STREAM_HARD_BUFFER_BYTES (1048576) must be less than STREAM_FATAL_BUFFER_BYTES (300000)",
    ],
    [{ UNWIND_CONFIG: "missing.json" }, "UNWIND_CONFIG: cannot read missing.json"],
  ])("refuses the settings %j", (environment, problem) => {
    expect(problems(environment).join()).toContain(problem);
  });

  it.each(["{", "[]", "null", "5"])("refuses the file %s", (file) => {
    expect(problems({}, file)).toHaveLength(1);
  });

  it("reads fees, rates and the ticker rule exactly", () => {
    expect(
      config({ VENUETWO_TAKER_FEE_BPS: "4.005", VENUETWO_MAKER_FEE_BPS: "-0.5", QUOTE_RATES: "USDT=0.9998, USDC=1" }),
    ).toMatchObject({
      venues: expect.arrayContaining([
        expect.objectContaining({ venue: "venuetwo", fees: { takerFeeMilliBps: 4005, makerFeeMilliBps: -500 } }),
      ]),
      quoteRatePpm: new Map([
        ["USDT", 999_800],
        ["USDC", 1_000_000],
      ]),
      refusedTickers: new Set(),
    });
    expect(config({ VENUETWO_TICKER_AUTH: "required" }).refusedTickers).toEqual(new Set(["venuetwo"]));
    expect(
      config({ VENUETWO_TICKER_AUTH: "required", VENUETWO_API_KEY: "k", VENUETWO_API_SECRET: "s" }).refusedTickers,
    ).toEqual(new Set());
  });

  it("passes the stream its limits, by default the stream's own", () => {
    expect(DEFAULT_STREAM_LIMITS).toMatchObject(config({}).stream);
    const stream = {
      STREAM_CONNECTIONS_MAX: "1",
      STREAM_CONNECTIONS_PER_ADDRESS_MAX: "2",
      STREAM_SUBSCRIPTIONS_MAX: "3",
      STREAM_KEYS_MAX: "4",
      STREAM_ACCOUNT_KEYS_MAX: "5",
      STREAM_LEVELS_MAX: "9000",
      STREAM_CONNECTION_LEVELS_MAX: "8000",
      STREAM_FRAME_BYTES_MAX: "2048",
      STREAM_FRAMES_PER_SECOND: "7",
      STREAM_SOFT_BUFFER_BYTES: "20000",
      STREAM_HARD_BUFFER_BYTES: "30000",
      STREAM_FATAL_BUFFER_BYTES: "40000",
    };
    expect(config(stream).stream).toEqual({
      connectionsMax: 1,
      connectionsPerAddressMax: 2,
      connectionsPerKeyMax: 10_000,
      unauthenticatedPerAddressMax: 5,
      subscriptionsMax: 3,
      keysMax: 4,
      privateKeysMax: 5,
      levelsMax: 9_000,
      connectionLevelsMax: 8_000,
      frameBytesMax: 2048,
      framesPerSecond: 7,
      softBufferBytes: 20_000,
      hardBufferBytes: 30_000,
      fatalBufferBytes: 40_000,
    });
  });

  it("never repeats a value in a problem about a secret", () => {
    const secret = "zz".repeat(32);
    expect(problems({ SERVER_SECRET: secret, VENUETWO_API_SECRET: secret }).join()).not.toContain(secret);
    expect(readConfig({ UNWIND_CONFIG: "f" }, () => `{"VENUETWO_API_KEY": "${secret}"`)).toMatchObject({
      ok: false,
      problems: ["f is not valid JSON"],
    });
  });

  it("treats an empty variable as unset where an empty text is no value", () => {
    expect(config({ PORT: "", LOG_LEVEL: "", CORS_ALLOW_ORIGIN: "" })).toMatchObject({
      port: 8080,
      logLevel: "info",
      allowedOrigins: [],
    });
    expect(readConfig({ UNWIND_CONFIG: "" }, noFile).ok).toBe(true);
  });

  it("leaves an option of the file in force where its variable is empty", () => {
    const file = '{ "PORT": 9000, "VENUEONE_ENABLED": false, "ORDER_NOTIONAL_MAX": "1000", "SYMBOLS": ["BTC"] }';
    const empty = { PORT: "", VENUEONE_ENABLED: "", ORDER_NOTIONAL_MAX: "", SYMBOLS: "" };
    const { port, venues, guards, symbols } = config(empty, file);
    expect([port, venues.find(({ venue }) => venue === "venueone")?.enabled]).toEqual([9000, false]);
    expect(guards).toEqual(config({}, file).guards);
    // An empty list is a value.
    expect(symbols).toEqual([]);
  });
});

describe("names of the environment that are no option", () => {
  const unknown = (...names: string[]) =>
    config(Object.fromEntries(names.map((name) => [name, "a value with a secret"]))).unknownNames;

  it("are reported where they look like ours, with the option that may be meant", () => {
    expect(
      unknown(
        "VENUEONE_RESTURL",
        "VENUETWO_API_SECERT",
        "VENUEFOUR_PROXY",
        "UNWIND_PORT",
        "DATADIR",
        "LOGLEVEL",
        "SYMBOL",
        "STREAM_CONECTIONS_MAX",
        "MAX_SLIPAGE_BPS",
        "log_level",
      ),
    ).toEqual([
      { name: "DATADIR", meant: "DATA_DIR" },
      { name: "LOGLEVEL", meant: "LOG_LEVEL" },
      { name: "MAX_SLIPAGE_BPS", meant: "MAX_SLIPPAGE_BPS" },
      { name: "STREAM_CONECTIONS_MAX", meant: "STREAM_CONNECTIONS_MAX" },
      { name: "SYMBOL", meant: "SYMBOLS" },
      { name: "UNWIND_PORT", meant: "PORT" },
      { name: "VENUEFOUR_PROXY", meant: null },
      { name: "VENUEONE_RESTURL", meant: "VENUEONE_REST_URL" },
      { name: "VENUETWO_API_SECERT", meant: "VENUETWO_API_SECRET" },
      { name: "log_level", meant: "LOG_LEVEL" },
    ]);
  });

  it("are ignored where they belong to other programs", () => {
    expect(
      unknown(
        ...["PATH", "HOME", "HOSTNAME", "LOGNAME", "PWD", "SHLVL", "TERM", "LANG", "NODE_ENV", "npm_config_port"],
        ...["HTTP_PROXY", "SSL_CERT_DIR", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "SSLKEYLOGFILE", "XDG_DATA_DIRS"],
        ...["FUZZ_SEED", "SIM_SEED", "AWS_REGION", "TZ", "PORTS"],
        ...["PGHOST", "GIT_SSL_CAINFO", "npm_package_name", "CLICKHOUSE_DB", "DISPLAY", "VENUE"],
      ),
    ).toEqual([]);
    expect(unknown("HOST_IP", "UNWIND_CONFIGS").map(({ name }) => name)).toEqual(["UNWIND_CONFIGS"]);
    expect(config({ UNWIND_PROFILE: "start", PORT: "1", VENUEONE_MAINNET: "true" }).unknownNames).toEqual([]);
  });
});

describe("the document docs/configuration.md", () => {
  it("lists every option with its default and meaning, and no other", () => {
    const path = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "docs", "configuration.md");
    const rows = readFileSync(path, "utf8")
      .split("\n")
      .filter((line) => /^\| `[A-Z0-9_]+` \|/.test(line));
    expect(rows).toEqual(Object.entries(ALL_OPTIONS).map(([name, option]) => configRow(name, option)));
  });
});

/** The row of one option as the document must print it. */
function configRow(name: string, option: Option): string {
  const shown = Array.isArray(option.default) ? option.default.join(",") : String(option.default);
  const bounds =
    option.kind === "integer" || option.kind === "number"
      ? `, ${option.min}–${option.max}`
      : option.kind === "word"
        ? `: ${option.words.join(", ")}`
        : "";
  return `| \`${name}\` | ${option.kind}${bounds} | ${shown === "" ? "(empty)" : `\`${shown}\``} | ${option.doc} |`;
}
