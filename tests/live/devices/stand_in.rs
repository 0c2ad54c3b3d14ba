//! Devices as they behave: each keeps what is not acknowledged, sends it again after a while, and connects anew.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use nom_teltonika::encoder::{AvlRecordFields, DatagramHeaderFields, encode_avl_datagram, encode_avl_frame};
use nom_teltonika::protocol::{AvlCodec, GpsElement, ImeiView, Priority};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;
use waypost_test_support::eventually;

use crate::server::DEADLINE;

/// A device sends again what is not answered within this.
const ANSWERED_WITHIN: Duration = Duration::from_secs(2);
/// Records of one packet at most.
const PACKET: usize = 5;

/// What a device speaks. Each of these waits for an answer before it forgets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Speaks {
    Teltonika,
    Datagrams,
    Gt06,
    H02,
    Queclink,
}

/// An answer: how long it is, and how it begins.
struct Answer(usize, Vec<u8>);

/// A device with records in its memory.
pub(crate) struct Device {
    pub(crate) speaks: Speaks,
    pub(crate) name: String,
    /// The instants of the records that it keeps, in milliseconds.
    pub(crate) kept: VecDeque<i64>,
    /// The instants of those it forgot, also for whoever watches.
    pub(crate) forgotten: Rc<RefCell<Vec<i64>>>,
    /// Answers that get lost on their way to it, from now on.
    pub(crate) lost_answers: usize,
    /// How often it sent a packet again.
    pub(crate) again: usize,
}

impl Device {
    pub(crate) fn new(speaks: Speaks, name: &str, kept: impl IntoIterator<Item = i64>) -> Self {
        let kept = kept.into_iter().collect();
        Self { speaks, name: name.to_owned(), kept, forgotten: Rc::default(), lost_answers: 0, again: 0 }
    }

    /// Reports until it keeps nothing any more.
    pub(crate) async fn report(&mut self, to: SocketAddr) {
        while !self.kept.is_empty() {
            let _ended = match self.speaks {
                Speaks::Datagrams => self.by_datagrams(to).await,
                _ => self.by_connection(to).await,
            };
        }
    }

    fn packet(&self) -> (usize, Vec<u8>, Answer) {
        let most = if matches!(self.speaks, Speaks::Teltonika | Speaks::Datagrams) { PACKET } else { 1 };
        let kept: Vec<i64> = self.kept.iter().take(most).copied().collect();
        let (bytes, answer) = match self.speaks {
            Speaks::Teltonika => (teltonika(&kept), (kept.len() as u32).to_be_bytes().to_vec()),
            Speaks::Datagrams => (datagram(&self.name, &kept), datagram_answer(&kept)),
            Speaks::Gt06 => {
                let location = gt06(0x12, &gt06_location(kept[0]), packet_number(&kept));
                // Its check sum follows, and the end of the message.
                let begins = [&[0x78, 0x78, 5, 0x12][..], &packet_number(&kept).to_be_bytes()].concat();
                return (1, location, Answer(10, begins));
            }
            Speaks::H02 => {
                // The server's time follows.
                let begins = format!("*HQ,{},V4,V1,20", self.name).into_bytes();
                return (1, h02(&self.name, kept[0]), Answer(36, begins));
            }
            Speaks::Queclink => {
                let number = format!("{:04X}", kept[0] / 1_000 % 0xffff);
                (queclink(&self.name, kept[0], &number), format!("+SACK:{number}$").into_bytes())
            }
        };
        (kept.len(), bytes, Answer(answer.len(), answer))
    }

    fn forget(&mut self, count: usize) {
        let gone = self.kept.drain(..count);
        self.forgotten.borrow_mut().extend(gone);
    }

    /// Whether the answer reaches it.
    fn hears(&mut self) -> bool {
        self.lost_answers = self.lost_answers.saturating_sub(1);
        self.lost_answers == 0
    }

    async fn by_connection(&mut self, to: SocketAddr) -> std::io::Result<()> {
        let mut stream = eventually(DEADLINE, || TcpStream::connect(to)).await;
        if self.speaks == Speaks::Teltonika {
            stream.write_all(&greeting(&self.name)).await?;
            let accepted = answered(&mut stream, 1).await?;
            assert_eq!(accepted, [1], "{} may report", self.name);
        }
        if self.speaks == Speaks::Gt06 {
            stream.write_all(&gt06(0x01, &gt06_name(&self.name), 1)).await?;
            assert_eq!(
                answered(&mut stream, 10).await?[..4],
                [0x78, 0x78, 5, 0x01],
                "{} may report",
                self.name
            );
        }
        while !self.kept.is_empty() {
            let (count, bytes, Answer(length, begins)) = self.packet();
            stream.write_all(&bytes).await?;
            let answer = answered(&mut stream, length).await;
            if answer.is_err() {
                self.again += 1;
            }
            assert_eq!(answer?[..begins.len()], begins);
            if !self.hears() {
                self.again += 1;
                return Ok(());
            }
            self.forget(count);
        }
        Ok(())
    }

    async fn by_datagrams(&mut self, to: SocketAddr) -> std::io::Result<()> {
        let socket = UdpSocket::bind("127.0.0.1:0").await?;
        socket.connect(to).await?;
        while !self.kept.is_empty() {
            let (count, bytes, Answer(_, expected)) = self.packet();
            let _away = socket.send(&bytes).await;
            let mut answer = [0; 64];
            // An answer to a packet that was sent twice may come when the next one is on its way.
            let own = async {
                while socket.recv(&mut answer).await.map(|length| answer[..length] != expected)? {}
                std::io::Result::Ok(())
            };
            match timeout(ANSWERED_WITHIN, own).await {
                Ok(Ok(())) if self.hears() => self.forget(count),
                _ => self.again += 1,
            }
        }
        Ok(())
    }
}

async fn answered(stream: &mut TcpStream, length: usize) -> std::io::Result<Vec<u8>> {
    let mut answer = vec![0; length];
    timeout(ANSWERED_WITHIN, stream.read_exact(&mut answer)).await??;
    Ok(answer)
}

/// What a Teltonika device says first.
pub(crate) fn greeting(name: &str) -> Vec<u8> {
    [&(name.len() as u16).to_be_bytes()[..], name.as_bytes()].concat()
}

fn records(instants: &[i64]) -> Vec<AvlRecordFields<'static>> {
    let gps = |at: i64| GpsElement {
        longitude_raw: -977_400_000,
        latitude_raw: 302_700_000 + (at / 1_000 % 1_000) as i32,
        altitude_meters: 150,
        angle_degrees: 90,
        satellites: 9,
        speed_kph: 36,
    };
    instants.iter().map(|at| AvlRecordFields::new((*at as u64).into(), Priority::Low, gps(*at))).collect()
}

/// A packet of records.
pub(crate) fn teltonika(instants: &[i64]) -> Vec<u8> {
    encode_avl_frame(AvlCodec::Codec8, &records(instants)).unwrap()
}

/// The number of a datagram of records, which its answer repeats: that of a packet is the same whenever it is sent.
fn packet_number(instants: &[i64]) -> u16 {
    (instants[0] / 1_000 % 0x10000) as u16
}

/// What answers a datagram whose records are all stored.
pub(crate) fn datagram_answer(instants: &[i64]) -> Vec<u8> {
    let [high, low] = packet_number(instants).to_be_bytes();
    vec![0, 5, high, low, 1, low, instants.len() as u8]
}

/// A datagram of records.
pub(crate) fn datagram(name: &str, instants: &[i64]) -> Vec<u8> {
    let packet_id = packet_number(instants);
    let [_, avl_packet_id] = packet_id.to_be_bytes();
    let header = DatagramHeaderFields { packet_id, avl_packet_id, imei: ImeiView::try_from(name).unwrap() };
    encode_avl_datagram(header, AvlCodec::Codec8Extended, &records(instants)).unwrap()
}

/// A message of a GT06 device.
fn gt06(kind: u8, content: &[u8], number: u16) -> Vec<u8> {
    let length = 5 + content.len() as u8;
    let body = [&[length, kind][..], content, &number.to_be_bytes()].concat();
    [&[0x78, 0x78], &body[..], &crc_x25(&body).to_be_bytes(), b"\r\n"].concat()
}

/// Its IMEI in binary coded decimals.
fn gt06_name(name: &str) -> Vec<u8> {
    let digits: Vec<u8> = format!("0{name}").bytes().map(|digit| digit - b'0').collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn gt06_location(at: i64) -> Vec<u8> {
    let time = jiff::Timestamp::from_millisecond(at).unwrap().to_zoned(jiff::tz::TimeZone::UTC);
    let time =
        [(time.year() % 100) as i8, time.month(), time.day(), time.hour(), time.minute(), time.second()];
    let (latitude, longitude) = (54_486_000_u32, 175_932_000_u32); // 1/30,000 of a minute
    let place = [&[0xc5], &latitude.to_be_bytes()[..], &longitude.to_be_bytes(), &[36, 0x14, 0x5a]].concat();
    let cell = [0x00, 0xf6, 0x01, 0x00, 0x6e, 0x00, 0x55, 0xda];
    [&time.map(|part| part as u8)[..], &place, &cell].concat()
}

/// CRC-16/X-25, which GT06 devices call CRC-ITU.
fn crc_x25(bytes: &[u8]) -> u16 {
    let bit = |crc: u16| if crc & 1 == 1 { (crc >> 1) ^ 0x8408 } else { crc >> 1 };
    !bytes.iter().fold(0xffff, |crc, byte| (0..8).fold(crc ^ u16::from(*byte), |crc, _| bit(crc)))
}

/// A report of one fix of an H02 clone.
fn h02(name: &str, at: i64) -> Vec<u8> {
    let (time, day) = (digits(at, "%H%M%S"), digits(at, "%d%m%y"));
    format!(
        "*HQ,{name},V1,{time},A,2235.1777,N,11357.8913,E,000.27,235,{day},FFFFFBFF,460,11,d18e105,7752,6#"
    )
    .into_bytes()
}

/// An instant in the digits that devices write.
pub(crate) fn digits(at: i64, form: &str) -> String {
    let at = jiff::Timestamp::from_millisecond(at).unwrap();
    at.to_zoned(jiff::tz::TimeZone::UTC).strftime(form).to_string()
}

/// A report of one fix.
pub(crate) fn queclink(name: &str, at: i64, number: &str) -> Vec<u8> {
    let time = digits(at, "%Y%m%d%H%M%S");
    let place = format!("-97.740000,30.{:06}", 270_000 + at / 1_000 % 1_000);
    format!("+RESP:GTFRI,060100,{name},,,00,1,1,36.0,92,70.0,{place},{time},0460,0000,18d8,6141,00,,,,,80,210100,,,,{time},{number}$").into_bytes()
}
