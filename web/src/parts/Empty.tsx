// A list with nothing in it: what that means, and the next step.

export function Empty({ what, next }: { what: string; next: string }) {
  return (
    <div class="empty">
      <p>{what}</p>
      <p class="quiet">{next}</p>
    </div>
  );
}
