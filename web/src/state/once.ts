// Work that is asked for more often than it can be done.

/** The same work, one after the other: whoever asks while it runs waits for one more run, which sees their change. */
export function once(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  let next: Promise<void> | null = null;
  const run = (): Promise<void> => (running = work().finally(() => { running = null; }));
  return () => {
    if (!running) return run();
    return (next ??= running.catch(() => {}).then(() => {
      next = null;
      return run();
    }));
  };
}
