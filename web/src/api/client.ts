// What the views ask the server with: typed by path, as the one signed in, in the organization shown.

import { computed, signal } from "@preact/signals";

import { strings } from "../strings";
import { type Answer, type Asked, type PathOf, type Prepared, prepare, prepareFile } from "./http";
import { isSignedOut } from "./problem";
import { isAway, lose } from "./reach";
import { end, sendSignedIn } from "./session";
import type { paths } from "./schema";

type Method = "get" | "post" | "put" | "delete";

const underway = signal(0);
/** Whether something was asked that is not answered yet. */
export const isAsking = computed(() => underway.value > 0);

const ask = <P extends keyof paths, M extends Method>(method: M, path: P, asked: Asked<P, M>): Promise<Answer<P, M>> =>
  sent(prepare(method, path, asked));

async function sent<T>(request: Prepared, read?: (answer: Response) => Promise<T>): Promise<T> {
  underway.value = underway.peek() + 1;
  try {
    return await sendSignedIn<T>(request, read);
  } catch (problem) {
    if (isSignedOut(problem)) end(strings.signIn.ended);
    if (isAway(problem)) lose();
    throw problem;
  } finally {
    underway.value = underway.peek() - 1;
  }
}

/** The interface of the server: `api.get("/v1/vehicles/{id}", { path: { id } })`. Throws a Problem where it refuses. */
export const api = {
  get: <P extends PathOf<"get">>(path: P, asked: Asked<P, "get"> = {}) => ask("get", path, asked),
  post: <P extends PathOf<"post">>(path: P, asked: Asked<P, "post"> = {}) => ask("post", path, asked),
  put: <P extends PathOf<"put">>(path: P, asked: Asked<P, "put"> = {}) => ask("put", path, asked),
  delete: <P extends PathOf<"delete">>(path: P, asked: Asked<P, "delete"> = {}) => ask("delete", path, asked),
  /** A GET with the tag of what it answers, for the `If-Match` of a change that follows from it. */
  tagged: <P extends PathOf<"get">>(path: P, asked: Asked<P, "get">) => sent(prepare("get", path, asked), async (answer) => ({
    found: (await answer.json()) as Answer<P, "get">,
    tag: answer.headers.get("ETag") ?? "*",
  })),
  /** A PUT whose body is a file. */
  upload: <P extends PathOf<"put">>(path: P, asked: Asked<P, "put">, file: Blob) => sent<Answer<P, "put">>(prepareFile(path, asked, file)),
  /** A GET that answers a file. */
  download: <P extends PathOf<"get">>(path: P, asked: Asked<P, "get">) => sent(prepare("get", path, asked), (answer) => answer.blob()),
};

type Page<T> = { readonly data: readonly T[]; readonly pagination: { readonly totalItems: number; readonly totalPages: number } };

/** Items per page, at most what the server allows. */
const PAGE_LIMIT = 200;
/** Vehicles per page without where they are, of which the server allows more. */
export const VEHICLES_LIMIT = 1000;

/**
 * All items of a list of master data: `all((page) => api.get("/v1/drivers", { query: { ...page } }))`. `begin` is told the first page
 * as soon as it is there: it is a small one also where those that follow are larger, which then begin anew.
 */
export async function all<T>(
  list: (page: { page: number; limit: number }) => Promise<Page<T>>, begin: (first: Page<T>) => void = () => {}, limit = PAGE_LIMIT,
): Promise<T[]> {
  const first = await list({ page: 1, limit: PAGE_LIMIT });
  begin(first);
  const { totalItems, totalPages } = first.pagination;
  if (totalPages <= 1) return [...first.data];
  const kept = limit === PAGE_LIMIT ? [first] : [];
  const number = Math.ceil(totalItems / limit) - kept.length;
  // the browser sends six at a time
  const others = Array.from({ length: number }, (_, index) => list({ page: index + 1 + kept.length, limit }));
  return [...kept, ...(await Promise.all(others))].flatMap(({ data }) => data);
}

interface Slice<T> {
  readonly data: readonly T[];
  readonly pagination: { readonly hasNextPage: boolean; readonly endCursor?: string | null };
}

/** The items of a list that goes on, one slice after the other: all, or as many slices as wanted. */
export async function slices<T>(ask: (after: string | undefined) => Promise<Slice<T>>, most = Infinity): Promise<T[]> {
  const found: T[] = [];
  let after: string | undefined;
  for (let asked = 1; ; asked += 1) {
    const { data, pagination } = await ask(after);
    found.push(...data);
    if (!pagination.hasNextPage || asked >= most) return found;
    after = pagination.endCursor ?? undefined;
  }
}
