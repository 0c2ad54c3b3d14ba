"""openapi-python-client's client: signs in, makes an organization and lists it."""

import sys

from waypost_client import AuthenticatedClient, Client
from waypost_client.api.auth import login
from waypost_client.api.organizations import activate_organization, create_organization, list_organizations
from waypost_client.models import (
    CreateOrganizationBody,
    FirstAdminIn,
    LoginBody,
    Organization,
    PageOfOrganization,
    SignedInPersonPrincipal,
)

base_url, email, password = sys.argv[1:]
signed_in = login.sync(client=Client(base_url), body=LoginBody(email=email, password=password))
assert isinstance(signed_in, SignedInPersonPrincipal), signed_in

client = AuthenticatedClient(base_url, token=signed_in.access_token)
admin = FirstAdminIn(email="grace@example.com", first_name="Grace", last_name="Hopper")
body = CreateOrganizationBody(name="Harbour Freight", contact_email="office@example.com", admin=admin)
made = create_organization.sync(client=client, body=body)
assert isinstance(made, Organization), made
activate_organization.sync(made.id, client=client)

listed = list_organizations.sync(client=client, limit=10)
assert isinstance(listed, PageOfOrganization), listed
assert made.id in [organization.id for organization in listed.data], listed
print(f"openapi-python-client: {signed_in.role} signed in, listed {len(listed.data)}")
