#!/usr/bin/env bash
# Reports one position as a tracker: tracker.sh LATITUDE LONGITUDE [SPEED_KMH]. Ends with success when it is committed.
#
# WAYPOST_URL: the server. WAYPOST_TOKEN: the tracker's token.
set -euo pipefail

url=${WAYPOST_URL:-http://127.0.0.1:8080}
: "${WAYPOST_TOKEN:?set WAYPOST_TOKEN to the token of a tracker}"
latitude=$1 longitude=$2 speed=${3:-0}

item=$(printf '{"recordedAt":%s000,"latitude":%s,"longitude":%s,"speedKmh":%s}' "$(date +%s)" "$latitude" "$longitude" "$speed")
# A repetition does no harm: the same fix is stored once. 408, 429 and 5xx are tried again after Retry-After; refusals end.
curl --silent --show-error --fail-with-body --max-time 20 --retry 8 --retry-connrefused --retry-max-time 300 \
    --header "Authorization: Bearer $WAYPOST_TOKEN" --json "{\"items\":[$item]}" "$url/v1/positions"
echo
