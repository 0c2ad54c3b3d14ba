// A list with nothing in it: what that means, and the next step; where there is one, a button that takes it.

interface Props {
  readonly what: string;
  readonly next: string;
  readonly action?: false | { readonly text: string; readonly address: string };
}

export function Empty({ what, next, action = false }: Props) {
  return (
    <div class="empty">
      <p>{what}</p>
      <p class="quiet">{next}</p>
      {action && <p><a class="button primary" href={action.address}>{action.text}</a></p>}
    </div>
  );
}
