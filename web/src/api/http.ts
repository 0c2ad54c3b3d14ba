// One request to the server: typed by the OpenAPI document, refused with a Problem. Knows no session.

import { Problem } from "./problem";
import type { paths } from "./schema";

type Method = "get" | "post" | "put" | "delete";

/** The paths that know a method. */
export type PathOf<M extends Method> = { [P in keyof paths]: paths[P] extends Record<M, object> ? P : never }[keyof paths];

type Operation<P extends keyof paths, M extends Method> = paths[P] extends Record<M, infer O> ? O : never;
type Parameters<O, K extends string> = O extends { readonly parameters: infer P } ? (K extends keyof P ? NonNullable<P[K]> : never) : never;
type Json<T> = T extends { content: { readonly "application/json": infer J } } ? J : undefined;
type Body<O> = O extends { readonly requestBody?: infer B }
  ? NonNullable<B> extends { readonly content: { readonly "application/json": infer J } } ? J : never
  : never;

type Loose<B> = { readonly [K in keyof B]: B[K] | undefined };

/** What an operation answers when it does what was asked. */
export type Answer<P extends keyof paths, M extends Method> =
  Operation<P, M> extends { readonly responses: infer R }
    ? { [S in keyof R & (200 | 201 | 202 | 204)]: Json<R[S]> }[keyof R & (200 | 201 | 202 | 204)]
    : never;

/** What may be said with a request: the names in the path, the query, the body. */
export interface Asked<P extends keyof paths, M extends Method> {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: { readonly [K in keyof Parameters<Operation<P, M>, "query">]?: Parameters<Operation<P, M>, "query">[K] | undefined };
  /** Members that are undefined are left out. */
  readonly body?: Loose<Body<Operation<P, M>>>;
  /** Other headers: `If-Match`, `Accept`. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** An address with its names and query filled in: lists comma-separated, what is undefined left out. */
export function address(path: string, names: Readonly<Record<string, string>> = {}, query: Readonly<Record<string, unknown>> = {}): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(names[name] ?? ""));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null) search.set(name, String(value));
  }
  return search.size > 0 ? `${filled}?${search}` : filled;
}

/** Random enough for a key; `crypto.randomUUID` is missing where the page comes without TLS from another machine. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * The keys of requests that got no answer, and may have been done: somebody who asks for the same once more gets what was done then. One
 * that says anything else is another request.
 */
const unanswered = new Map<string, string>();

/** A request that may be sent again: the key of a POST stays the same, so that it is done once. */
export interface Prepared {
  readonly address: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Blob | undefined;
  readonly signal: AbortSignal | undefined;
  readonly priority: RequestPriority;
}

const KEY = "Idempotency-Key";
const contentOf = (to: string, body: Prepared["body"]) => `${to} ${body}`;

/** Makes nothing, and is asked again by whoever wants it. */
const DRY_RUN = "/v1/geofences/dry-run";

/** Makes a request of what is asked. */
export function prepare<P extends keyof paths, M extends Method>(method: M, path: P, asked: Asked<P, M>): Prepared {
  const headers: Record<string, string> = { Accept: "application/json", ...asked.headers };
  if (asked.body !== undefined) headers["Content-Type"] = "application/json";
  // sign-in, a dry run and the like have no key: there is nothing to do twice
  const isOnce = method === "post" && !path.startsWith("/v1/auth/") && path !== DRY_RUN;
  const to = address(path, asked.path, asked.query as Record<string, unknown> | undefined);
  const body = asked.body === undefined ? undefined : JSON.stringify(asked.body);
  if (isOnce) headers[KEY] = unanswered.get(contentOf(to, body)) ?? randomKey();
  return {
    address: to,
    method: method.toUpperCase(),
    headers,
    body,
    signal: asked.signal,
    // the first page of a list is shown, and whatever else is asked meanwhile
    priority: Number((asked.query as { page?: number } | undefined)?.page ?? 1) > 1 ? "low" : "auto",
  };
}

/** A request whose body is a file as it is. */
export function prepareFile<P extends PathOf<"put">>(path: P, asked: Asked<P, "put">, file: Blob): Prepared {
  const prepared = prepare("put", path, asked);
  return { ...prepared, body: file, headers: { ...prepared.headers, "Content-Type": file.type || "application/octet-stream" } };
}

/** A server that refuses for a moment is asked again after so long. Milliseconds. */
const PAUSES_MS = [400, 1200];

/** Whether a request may be sent again, whatever became of it. */
const isRepeatable = ({ method, headers }: Prepared) => method === "GET" || KEY in headers;

/** Whether it is too busy or away, or still at what an earlier attempt asked it, which broke off. */
const isPassing = (problem: unknown) => problem instanceof Problem && (problem.status === 503 || problem.code === "idempotencyKeyInUse");

/** Whether nobody knows what became of it: the network broke off, or what stands before the server heard nothing of it. */
const isLost = (problem: unknown) => problem instanceof TypeError || (problem instanceof Problem && [502, 504].includes(problem.status));

/** Sends a request as whoever the token names; `read` makes of a good answer what it is. */
export async function send<T>(request: Prepared, token: string | undefined, read: Read<T> = json): Promise<T> {
  const key = request.headers[KEY];
  const content = contentOf(request.address, request.body);
  const pauses = isRepeatable(request) ? [...PAUSES_MS] : [];
  for (;;) {
    try {
      const answer = await sendOnce(request, token, read);
      unanswered.delete(content);
      return answer;
    } catch (problem) {
      const isOpen = key !== undefined && isLost(problem);
      if (isOpen) unanswered.set(content, key);
      else if (!isPassing(problem)) unanswered.delete(content);
      const pause = pauses.shift();
      if (pause === undefined || !(isOpen || isPassing(problem))) throw problem;
      await new Promise((again) => setTimeout(again, pause));
    }
  }
}

type Read<T> = (answer: Response) => Promise<T>;

const json = async <T>(answer: Response): Promise<T> => {
  const text = await answer.text();
  return (text ? parsed(text) : undefined) as T;
};

async function sendOnce<T>(request: Prepared, token: string | undefined, read: Read<T>): Promise<T> {
  const init: RequestInit = { method: request.method, priority: request.priority, headers: token ? { ...request.headers, Authorization: `Bearer ${token}` } : request.headers };
  if (request.body !== undefined) init.body = request.body;
  if (request.signal) init.signal = request.signal;
  const answer = await fetch(request.address, init);
  if (!answer.ok) throw new Problem(answer.status, parsed(await answer.text()));
  return read(answer);
}

/** A proxy in between may answer with a page of its own. */
function parsed(text: string): Record<string, never> | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
