/**
 * HTTP client of the tests: judges every reply by the OpenAPI document. A status or a shape that the document
 * does not name for the route fails the test that received it.
 */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { Agent, request as undiciRequest } from "undici";
import { buildOpenApi, type OpenApiDocument } from "../../schemas/openapi.js";

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** Parsed body; null when it is not JSON. */
  readonly body: Json;
}

/** What tests read from bodies: anything, checked by their own expectations. */
export type Json = null | string | number | boolean | Json[] | { [key: string]: Json };

export interface RequestOptions {
  readonly method?: "GET" | "HEAD" | "POST" | "PUT" | "DELETE" | "PATCH" | "OPTIONS";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** The reply is expected to be a route-level 404/405 that no operation documents. */
  readonly outside?: boolean;
}

export class ContractViolation extends Error {
  override readonly name = "ContractViolation";
}

export class TestClient {
  readonly #base: string;
  readonly #agent = new Agent({ connections: 16, keepAliveTimeout: 1000 });
  readonly #judge: ContractJudge;

  constructor(base: string, judge: ContractJudge = new ContractJudge()) {
    this.#base = base;
    this.#judge = judge;
  }

  async send(path: string, options: RequestOptions = {}): Promise<Reply> {
    const method = options.method ?? "GET";
    const { statusCode, headers, body } = await undiciRequest(this.#base + path, {
      method,
      dispatcher: this.#agent,
      ...(options.headers === undefined ? {} : { headers: options.headers }),
      ...(options.body === undefined ? {} : { body: options.body }),
    });
    const text = await body.text();
    const flat = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : String(value)]),
    );
    const reply: Reply = { status: statusCode, headers: flat, text, body: parse(text) };
    this.#judge.check(method, path, reply, options.outside ?? false);
    return reply;
  }

  get(path: string): Promise<Reply> {
    return this.send(path);
  }

  close(body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
    return this.send("/api/trade/position/close", {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body),
    });
  }

  async stop(): Promise<void> {
    await this.#agent.destroy();
  }
}

function parse(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    // Metrics are plain text; the judge says whether that was allowed.
    return null;
  }
}

interface DocumentedOperation {
  readonly template: string;
  readonly pattern: RegExp;
  readonly methods: ReadonlySet<string>;
}

/** Compiles a validator per (path, method, status) on first use and keeps it. */
export class ContractJudge {
  /** Every (method, template, status) seen and judged: lets a test assert what was covered. */
  readonly seen = new Set<string>();
  readonly #document: OpenApiDocument;
  readonly #ajv: Ajv2020;
  readonly #operations: readonly DocumentedOperation[];
  readonly #validators = new Map<string, ValidateFunction>();

  constructor() {
    this.#document = buildOpenApi();
    // The document has keywords of OpenAPI beside those of JSON Schema.
    this.#ajv = new Ajv2020({ strict: false, allErrors: true });
    this.#ajv.addSchema(this.#document, "openapi");
    // Literal paths first, so that `{exchange}` never shadows one.
    this.#operations = Object.keys(this.#document.paths)
      .map((template) => ({
        template,
        pattern: new RegExp(`^${template.replaceAll(".", "\\.").replace(/\{\w+\}/g, "[^/]*")}$`),
        methods: new Set(Object.keys(this.#document.paths[template] ?? {})),
      }))
      .sort((a, b) => count(a.template) - count(b.template));
  }

  check(method: string, target: string, reply: Reply, outside: boolean): void {
    const path = target.split("?", 1)[0] as string;
    const operation = this.#operations.find((one) => one.pattern.test(path));
    const known = operation?.methods.has(method === "HEAD" ? "get" : method.toLowerCase()) ?? false;
    if (method === "OPTIONS" && operation !== undefined) {
      if (reply.status !== 204) throw new ContractViolation(`OPTIONS ${path} answered ${reply.status}`);
      return;
    }
    if (reply.headers["x-request-id"] === undefined) throw new ContractViolation(`${method} ${path}: no X-Request-Id`);
    if (operation === undefined || !known) {
      if (!outside)
        throw new ContractViolation(`${method} ${path} is not in the document and answered ${reply.status}`);
      if (method !== "HEAD")
        this.#validate({ $ref: "openapi#/components/schemas/ErrorReply" }, reply, `${method} ${path}`);
      return;
    }
    const verb = method === "HEAD" ? "get" : method.toLowerCase();
    const pointer = `openapi#/paths/${escapePointer(operation.template)}/${verb}/responses/${reply.status}`;
    const responses = this.#document.paths[operation.template]?.[verb]?.responses as Record<
      string,
      { content: Record<string, unknown> }
    >;
    const documented = responses[String(reply.status)];
    if (documented === undefined)
      throw new ContractViolation(
        `${method} ${operation.template} answered ${reply.status}, which the document does not name`,
      );
    this.seen.add(`${method} ${operation.template} ${reply.status}`);
    if (method === "HEAD") {
      if (reply.text !== "") throw new ContractViolation(`HEAD ${path} has a body`);
      return;
    }
    const type = (reply.headers["content-type"] ?? "").split(";", 1)[0] as string;
    if (documented.content[type] === undefined)
      throw new ContractViolation(`${method} ${operation.template} ${reply.status} has type ${type}`);
    if (type !== "application/json") return;
    this.#validate(
      { $ref: `${pointer}/content/application~1json/schema` },
      reply,
      `${method} ${operation.template} ${reply.status}`,
    );
    if (reply.status !== 200) {
      const body = reply.body as { requestId?: unknown };
      if (body.requestId !== reply.headers["x-request-id"])
        throw new ContractViolation("requestId and X-Request-Id differ");
    }
  }

  #validate(schema: { readonly $ref: string }, reply: Reply, what: string): void {
    let validate = this.#validators.get(schema.$ref);
    if (validate === undefined) {
      validate = this.#ajv.compile(schema);
      this.#validators.set(schema.$ref, validate);
    }
    if (!validate(reply.body)) {
      throw new ContractViolation(
        `${what}: ${JSON.stringify(validate.errors?.slice(0, 5))}\n${reply.text.slice(0, 2000)}`,
      );
    }
  }
}

function count(template: string): number {
  return template.split("{").length;
}

/** A path as one segment of a JSON pointer inside a URI fragment. */
function escapePointer(path: string): string {
  return encodeURIComponent(path.replaceAll("~", "~0").replaceAll("/", "~1"));
}
