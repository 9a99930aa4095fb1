//! How people say that something is done, in the languages that models write most. Data only.
//!
//! The table does not decide whether a deed was done: the record does. It decides only who is asked about it.

/// One language. Words stand between spaces, phrases between bars.
pub(super) struct Language {
    /// Its commonest words: where one stands, the table knows the language.
    pub common: &'static str,
    /// What a clause about a finished deed has before the deed; after a plus the deed follows at once.
    pub(crate) openers: &'static str,
    /// Deeds, as they stand after an opener or at the clause's beginning.
    pub deeds: &'static str,
    /// Phrases that tell of a finished deed by themselves.
    pub phrases: &'static str,
    /// The same, where the clause has hardly any other words.
    pub short: &'static str,
    /// What makes a clause say no such thing: no, not yet, when, if.
    pub unless: &'static str,
}

/// Languages whose words stand apart.
pub(super) const SPACED: &[Language] = &[
    // English
    Language {
        common: "the and is are was were you your it's that this of to for with what when where how yes no not but from \
                 they he she we have has had will would can could should there here please thanks thank hello hi good \
                 it in on at an my me be do does did sorry sure okay which who why if or as by than then so just about \
                 all any more some only its i'm i'd i'll you're you've you'll don't can't one two three let's welcome nothing \
                 try",
        openers: "i've|i have|i just|i already|i also|i now|i+|have been|has been|is now|are now|was just|i went ahead and",
        deeds: "added noted saved stored recorded wrote written sent emailed messaged texted created deleted removed \
                cleared cancelled canceled updated edited renamed moved scheduled booked ordered bought paid installed \
                uploaded downloaded fixed replaced posted forwarded shared enabled disabled locked unlocked logged filed \
                submitted registered handled adjusted dimmed remembered memorized completed finished switched turned \
                notified informed subscribed unsubscribed archived restarted rebooted activated deactivated changed",
        phrases: "i've set|i have set|has been set|have been set|i've put|i have put|i've made|i have made|i've turned|\
                  i've switched|i've opened|i've closed|i've called|i've taken care|taken care of|i've done|i've told|\
                  i'll remember|i will remember|i've made a note|made a note|is now on|is now off|are now on|are now off|\
                  it's done|that's done|it is done|that is done|i did it|reminder is set|reminder set|timer is set|\
                  timer set|alarm set|alarm is set|is on your list|it's on your list",
        short: "done|noted|saved|sent|added|finished|completed|all set|deleted|booked|ordered|remembered|updated",
        unless: "not never once when if after before unless until would could can should cannot can't haven't hasn't \
                 nothing nobody who which he she they almost nearly well you've you'll",
    },
    // German
    Language {
        common: "der die das und ist sind war ich du er wir ihr nicht ein eine einen dem den des mit für auf von zu im am \
                 was wann wo wie ja nein bitte danke gerne gern kann kannst hat haben habe wird auch aber oder wenn dass \
                 noch schon nur es sie hier dir mir heute morgen gut hallo um bei nach aus über keine kein mehr gibt",
        openers: "ich habe|ich hab|habe ich|hab ich|habe|wurde|wurden|ist jetzt|sind jetzt|ist nun|ist|sind|ich bin",
        deeds: "hinzugefügt gespeichert notiert gesendet geschickt verschickt gelöscht entfernt erstellt angelegt \
                eingetragen aufgeschrieben gemerkt aktualisiert geändert umbenannt verschoben gebucht bestellt gekauft \
                bezahlt eingeschaltet ausgeschaltet angeschaltet abgeschaltet eingestellt gestellt gesetzt erledigt \
                abgeschlossen aktiviert deaktiviert storniert abgesagt reserviert vermerkt festgehalten installiert \
                informiert benachrichtigt angerufen gemacht ergänzt übernommen weitergeleitet ersetzt",
        phrases: "merke ich mir|merke es mir|merke mir|ist jetzt an|ist jetzt aus|sind jetzt an|sind jetzt aus|ist nun an|\
                  ist nun aus|steht jetzt auf|steht nun auf|steht auf deiner|ist auf der liste",
        short: "erledigt|gemacht|fertig|notiert|gespeichert|gesendet|eingetragen|gemerkt|hinzugefügt|gelöscht|gebucht",
        unless: "nicht nie noch wenn falls sobald nachdem bevor nichts niemand kann könnte soll wird werden wer keine kein",
    },
    // French
    Language {
        common: "le la les et est sont était je tu il elle nous vous ne pas un une des du au aux avec pour sur dans que qui \
                 quoi quand où comment oui non merci bonjour ce cette ça mais ou si plus très bien sont a été peux peut \
                 j'ai c'est d'accord votre ton vos mes",
        openers: "j'ai|je l'ai|je les ai|je viens de l'|a été|ont été|a bien été|est maintenant|c'est|est|je me suis|je t'ai|je vous ai",
        deeds: "ajouté ajoutée ajoutés noté notée enregistré enregistrée envoyé envoyée créé créée supprimé supprimée \
                effacé effacée modifié mis mise réservé réservée commandé acheté payé allumé allumée éteint éteinte \
                programmé programmée annulé annulée fait mémorisé sauvegardé rappelé configuré réglé terminé activé \
                désactivé déplacé renommé transféré",
        phrases: "je m'en souviendrai|je m'en souviens|est bien noté|est désormais",
        short: "fait|noté|ajouté|envoyé|enregistré|terminé|c'est fait|c'est noté",
        unless: "pas jamais si quand lorsque dès après avant rien personne peux peut qui",
    },
    // Spanish
    Language {
        common: "el la los las y es son era yo tú él nosotros no un una unos del al con para por en que qué quién cuándo \
                 dónde cómo sí gracias hola esto esta este pero si más muy bien está están tu tus lo puedo puede ya hay",
        openers: "he|lo he|la he|los he|ya he|se ha|ha sido|han sido|ya está|está|te he|ya lo he|fue",
        deeds: "añadido añadida agregado guardado guardada anotado anotada apuntado enviado enviada creado creada borrado \
                eliminado eliminada actualizado cambiado reservado pedido comprado pagado encendido apagado programado \
                puesto cancelado hecho registrado recordado configurado modificado movido completado terminado activado",
        phrases: "añadí|agregué|guardé|anoté|apunté|envié|creé|borré|eliminé|reservé|programé|encendí|apagué|cancelé|\
                  actualicé|lo recordaré|lo tendré en cuenta|ya está hecho",
        short: "hecho|listo|anotado|guardado|enviado|añadido|agregado|apuntado",
        unless: "no nunca si cuando después antes nada nadie puedo puede quién",
    },
    // Italian
    Language {
        common: "il lo la gli le e è sono era io tu lui noi non un una uno del della al con per su in che chi cosa quando \
                 dove come sì no grazie ciao questo questa ma se più molto bene sei ho hai puoi posso tuo tua",
        openers: "ho|l'ho|li ho|le ho|ti ho|è stato|è stata|sono stati|sono state|è ora|è|mi sono",
        deeds: "aggiunto aggiunta salvato salvata annotato annotata segnato inviato inviata mandato creato creata eliminato \
                cancellato rimosso aggiornato modificato prenotato ordinato comprato pagato acceso accesa spento spenta \
                impostato impostata programmato fatto registrato memorizzato ricordato completato spostato attivato",
        phrases: "me lo ricorderò|me ne ricorderò",
        short: "fatto|salvato|annotato|inviato|aggiunto|segnato|tutto fatto",
        unless: "non mai se quando dopo prima niente nessuno posso puoi chi",
    },
    // Portuguese
    Language {
        common: "o os as e é são era eu tu você ele nós não um uma uns do da dos das ao com para por em no na que quem \
                 quando onde como sim obrigado obrigada olá isto isso este esta mas se mais muito bem está seu sua já",
        openers: "foi|foram|já está|está|tenho|já foi|eu já",
        deeds: "adicionado adicionada guardado salvo salva anotado anotada enviado enviada criado criada apagado eliminado \
                removido atualizado alterado reservado pedido comprado pago ligado desligado agendado agendada definido \
                cancelado feito registrado registado concluído configurado",
        phrases: "adicionei|guardei|salvei|anotei|enviei|mandei|criei|apaguei|eliminei|removi|atualizei|reservei|pedi|\
                  comprei|liguei|desliguei|agendei|cancelei|registrei|registei|configurei|vou lembrar|lembrarei|coloquei|já fiz",
        short: "feito|pronto|anotado|salvo|enviado|guardado|adicionado|concluído",
        unless: "não nunca se quando depois antes nada ninguém posso pode quem",
    },
    // Dutch
    Language {
        common: "de het een en is zijn was ik jij je hij zij wij we niet van met voor op in naar dat die dit wat wanneer \
                 waar hoe ja nee dank bedankt hallo graag maar of als nog wel kan kun heb heeft hebben wordt ook er te",
        openers: "ik heb|heb ik|heb|is|zijn|is nu|zijn nu|werd|werden|ik heb het",
        deeds: "toegevoegd opgeslagen genoteerd verstuurd verzonden gestuurd aangemaakt gemaakt verwijderd gewist \
                bijgewerkt gewijzigd geboekt besteld gekocht betaald aangezet uitgezet ingesteld gezet gedaan geregeld \
                geannuleerd afgezegd gereserveerd onthouden vastgelegd ingepland afgerond voltooid opgeschreven",
        phrases: "zal ik onthouden|zal het onthouden|onthoud ik|staat nu op|staat nu aan|staat nu uit",
        short: "gedaan|klaar|genoteerd|opgeslagen|verstuurd|toegevoegd|geregeld",
        unless: "niet nooit als zodra wanneer nadat voordat niets niemand kan kun wie geen nog",
    },
    // Polish
    Language {
        common: "jest są był była nie tak to na do się że jak co kto kiedy gdzie czy dla od po za ze ale lub jeśli już mogę \
                 możesz dzień dobry dziękuję proszę cześć mam masz ten ta te bardzo dobrze",
        openers: "został|została|zostało|zostały|jest już|są już|jest",
        deeds: "dodany dodana dodane dodano zapisany zapisana zapisane zapisano wysłany wysłana wysłano utworzono usunięto \
                zmieniono ustawiono ustawione zaktualizowano zarezerwowano zamówiono włączone wyłączone włączono wyłączono \
                anulowano zrobione wykonano ukończono",
        phrases: "dodałem|dodałam|zapisałem|zapisałam|zanotowałem|zanotowałam|wysłałem|wysłałam|utworzyłem|utworzyłam|\
                  usunąłem|usunęłam|zmieniłem|zmieniłam|ustawiłem|ustawiłam|zaktualizowałem|zaktualizowałam|\
                  zarezerwowałem|zarezerwowałam|zamówiłem|zamówiłam|włączyłem|włączyłam|wyłączyłem|wyłączyłam|\
                  zapamiętałem|zapamiętałam|zapamiętam|zrobiłem|zrobiłam|odwołałem|anulowałem",
        short: "gotowe|zrobione|zapisane|zanotowane|wysłane|dodane|załatwione",
        unless: "nie nigdy jeśli gdy kiedy jak po zanim nic nikt mogę kto",
    },
    // Czech
    Language {
        common: "je jsou byl byla není ano ne to na do se že jak co kdo kdy kde pro od po za ale nebo jestli už můžu můžeš \
                 dobrý den děkuji prosím ahoj mám máš ten ta jsem jsi velmi dobře",
        openers: "byl|byla|bylo|byly|je|jsou|je už",
        deeds: "přidán přidána přidáno uložen uložena uloženo odeslán odeslána odesláno vytvořeno smazáno změněno nastaveno \
                nastaven aktualizováno rezervováno objednáno zapnuto vypnuto zrušeno hotovo dokončeno zapsáno",
        phrases: "přidal jsem|přidala jsem|uložil jsem|uložila jsem|zapsal jsem|zapsala jsem|poznamenal jsem|odeslal jsem|\
                  poslal jsem|poslala jsem|vytvořil jsem|smazal jsem|změnil jsem|nastavil jsem|nastavila jsem|\
                  objednal jsem|zapnul jsem|vypnul jsem|zrušil jsem|zapamatoval jsem|udělal jsem|jsem přidal|jsem uložil|\
                  jsem nastavil|jsem poslal|jsem zapsal|zapamatuji si",
        short: "hotovo|uloženo|zapsáno|odesláno|přidáno|poznamenáno",
        unless: "ne není nikdy když jestli až po než nic nikdo můžu kdo",
    },
    // Swedish
    Language {
        common: "och är var jag du han hon vi inte en ett den det som med för på av till i om vad när var hur ja nej tack \
                 hej gärna men eller kan har hade ska blir också bara här där mycket bra att går klockan får kommer från idag imorgon",
        openers: "jag har|har jag|har|är nu|är|blev|har blivit|har nu",
        deeds: "lagt sparat sparad sparats noterat antecknat skickat skickats skapat raderat tagit uppdaterat ändrat bokat \
                beställt köpt betalat tänt släckt ställt satt gjort ordnat avbokat lagts bokats skapats slagit stängt \
                slutfört",
        phrases: "kommer jag ihåg|jag kommer ihåg det|la till|lade till|är nu på|är nu av|är tänd|är släckt",
        short: "klart|gjort|sparat|noterat|skickat|fixat|ordnat|tillagt",
        unless: "inte aldrig om när efter innan inget ingen kan vem",
    },
    // Danish and Norwegian
    Language {
        common: "og er var jeg du han hun vi ikke en et den det som med for på af av til i om hvad hva når hvor hvordan ja \
                 nej nei tak takk hej gerne men eller kan har havde skal bliver også kun her der meget godt bra at å",
        openers: "jeg har|har jeg|har|er nu|er nå|er|blev|ble|er blevet|er blitt",
        deeds: "tilføjet gemt noteret skrevet sendt oprettet slettet fjernet opdateret ændret booket bestilt købt betalt \
                tændt slukket sat gjort ordnet aflyst husket lagt lagret notert opprettet fjernet oppdatert endret kjøpt \
                slått satt avbestilt reserveret reservert stillet",
        phrases: "det husker jeg|jeg husker det|la til|la jeg til",
        short: "gjort|færdig|ferdig|gemt|lagret|noteret|notert|sendt|tilføjet|ordnet|klaret",
        unless: "ikke aldrig hvis når efter etter før intet ingen kan hvem",
    },
    // Finnish
    Language {
        common: "ja on ovat oli minä sinä hän me ei en et se tämä mikä mitä kuka milloin missä miten kyllä kiitos hei ole \
                 että jos kun mutta tai myös vain voi voin voit nyt hyvä hyvin hyvää siis sitten kanssa niin olen olet",
        openers: "olen|on nyt|on|ovat",
        deeds: "lisännyt tallentanut kirjannut lähettänyt luonut poistanut päivittänyt muuttanut varannut tilannut ostanut \
                maksanut sytyttänyt sammuttanut asettanut tehnyt perunut muistanut lisätty tallennettu kirjattu lähetetty \
                luotu poistettu päivitetty muutettu varattu tilattu asetettu tehty peruttu päällä merkitty",
        phrases: "lisäsin|tallensin|kirjasin|lähetin|loin|poistin|päivitin|muutin|varasin|tilasin|ostin|maksoin|sytytin|\
                  sammutin|asetin|tein|peruin|merkitsin|laitoin|muistan sen|kytkin",
        short: "tehty|valmis|tallennettu|lisätty|lähetetty|kirjattu|merkitty|hoidettu",
        unless: "ei en jos kun ennen jälkeen mitään kukaan voin voi kuka",
    },
    // Turkish
    Language {
        common: "ve bir bu şu için ile ne nasıl nerede kim evet hayır değil var yok merhaba teşekkür teşekkürler ederim \
                 lütfen ama veya çok iyi da de mi mı mu mü ben sen biz siz olarak daha gibi kadar sonra her nedir olan",
        openers: "başarıyla|artık",
        deeds: "eklendi kaydedildi gönderildi silindi oluşturuldu ayarlandı güncellendi değiştirildi tamamlandı açıldı \
                kapatıldı",
        phrases: "ekledim|kaydettim|gönderdim|sildim|oluşturdum|ayarladım|güncelledim|değiştirdim|tamamladım|açtım|\
                  kapattım|kurdum|yazdım|hallettim|yaptım|not aldım|not ettim|aldım|aklımda|hatırlayacağım|iptal ettim|\
                  rezerve ettim|sipariş ettim|sipariş verdim|eklendi|kaydedildi|gönderildi|silindi|oluşturuldu|ayarlandı|\
                  kuruldu|güncellendi|tamamlandı|iptal edildi|not edildi",
        short: "tamam|tamamdır|oldu|bitti|yapıldı|kaydedildi|hallettim",
        unless: "değil eğer önce hiçbir hiç kim",
    },
    // Romanian
    Language {
        common: "și este sunt era eu tu el noi nu un o cu pentru pe în la că ce cine când unde cum da mulțumesc bună salut \
                 acest dar sau dacă mai foarte bine poți pot ai ați",
        openers: "am|a fost|au fost|l-am|le-am|mi-am|ți-am|este acum",
        deeds: "adăugat salvat notat trimis creat șters actualizat schimbat rezervat comandat cumpărat plătit aprins stins \
                setat anulat făcut înregistrat reținut pornit oprit modificat",
        phrases: "voi ține minte",
        short: "gata|făcut|notat|salvat|trimis|adăugat",
        unless: "nu niciodată dacă când după înainte nimic nimeni pot cine",
    },
    // Hungarian
    Language {
        common: "és az egy van vagyok vagy nem igen hogy mi mit ki mikor hol hogyan köszönöm kérem szia jó de ha már még \
                 csak itt ott nagyon jól lehet tudok tudsz ez ezt azt",
        openers: "sikeresen",
        deeds: "hozzáadva elmentve elküldve törölve létrehozva beállítva frissítve",
        phrases: "hozzáadtam|elmentettem|feljegyeztem|felírtam|elküldtem|létrehoztam|töröltem|frissítettem|beállítottam|\
                  lefoglaltam|megrendeltem|bekapcsoltam|kikapcsoltam|felkapcsoltam|lekapcsoltam|megjegyeztem|\
                  megcsináltam|hozzáadva|elmentve|elküldve|beállítva",
        short: "kész|elmentve|elküldve|megvan|rögzítve",
        unless: "nem soha ha amikor után előtt semmi senki tudok ki",
    },
    // Russian
    Language {
        common: "и",
        openers: "я|уже|успешно|было|был|была|были",
        deeds: "добавил добавила добавлено добавлен добавлена сохранил сохранила сохранено записал записала записано \
                отправил отправила отправлено отправлен создал создала создано создан удалил удалила удалено изменил \
                изменила обновил обновила обновлено забронировал забронировала заказал заказала купил включил включила \
                включено выключил выключила выключено установил установила установлено поставил поставила настроил \
                настроила отменил отменила отменено сделал сделала выполнил запомнил запомнила отметил напомнил",
        phrases: "молоко добавлено|я запомню|теперь включён|теперь включен|теперь выключен|взял на заметку|всё сделано",
        short: "готово|сделано|записано|записал|записала|сохранено|отправлено|добавлено|запомнил|запомнила|выполнено|добавил",
        unless: "не нет если когда после прежде ничего никто могу кто он она они",
    },
    // Ukrainian
    Language {
        common: "і",
        openers: "я|вже|успішно|було|був|була",
        deeds: "додав додала додано зберіг зберегла збережено записав записала записано надіслав надіслала надіслано \
                створив створила створено видалив видалила видалено змінив змінила оновив оновила замовив замовила \
                купив увімкнув увімкнула увімкнено вимкнув вимкнула вимкнено встановив встановила встановлено налаштував \
                скасував зробив зробила виконав запам'ятав запам'ятала",
        phrases: "я запам'ятаю|молоко додано",
        short: "готово|зроблено|записано|збережено|надіслано|додано|виконано|запам'ятав",
        unless: "не ні якщо коли після перш нічого ніхто можу хто він вона вони",
    },
    // Greek
    Language {
        common: "και",
        openers: "έχω|έχει|έχουν|μόλις|το έχω",
        deeds: "προσθέσει αποθηκεύσει στείλει δημιουργήσει διαγράψει ενημερώσει ρυθμίσει κλείσει ανοίξει σημειώσει \
                προστεθεί αποθηκευτεί σταλεί ολοκληρωθεί κάνει",
        phrases: "πρόσθεσα|αποθήκευσα|έστειλα|δημιούργησα|διέγραψα|ενημέρωσα|ρύθμισα|σημείωσα|κατέγραψα|έκλεισα|άναψα|\
                  έσβησα|ακύρωσα|άλλαξα|έβαλα|προστέθηκε|αποθηκεύτηκε|στάλθηκε|διαγράφηκε|ολοκληρώθηκε|θα το θυμάμαι",
        short: "έγινε|ολοκληρώθηκε|έτοιμο|σημειώθηκε|αποθηκεύτηκε|στάλθηκε",
        unless: "δεν μη όχι ποτέ αν όταν αφού πριν τίποτα κανείς μπορώ ποιος",
    },
    // Arabic
    Language {
        common: "من",
        openers: "لقد|قمت|تم|تمت",
        deeds: "أضفت حفظت أرسلت سجلت حذفت أنشأت ضبطت حجزت طلبت شغلت أطفأت حدثت ألغيت إضافة حفظ إرسال تسجيل حذف إنشاء ضبط \
                حجز تحديث إلغاء تشغيل إيقاف بإضافة بحفظ بإرسال بتسجيل بحذف بإنشاء بضبط بحجز بتحديث بإلغاء بتشغيل بإيقاف \
                الإضافة الحفظ الإرسال الحذف",
        phrases: "أضفت|حفظت|أرسلت|حذفت|أنشأت|ضبطت|سجلت ذلك|سأتذكر ذلك",
        short: "تم|تمت|انتهيت|تم ذلك",
        unless: "لم لا ليس إذا عندما لن بعد قبل",
    },
    // Hebrew
    Language {
        common: "של",
        openers: "כבר|הרגע",
        deeds: "נוסף נוספה נשמר נשמרה נשלח נשלחה נרשם בוצע הוגדר",
        phrases: "הוספתי|שמרתי|שלחתי|רשמתי|מחקתי|יצרתי|הגדרתי|עדכנתי|ביטלתי|הדלקתי|כיביתי|סיימתי|הזמנתי|שיניתי|זכרתי|\
                  נשמר בהצלחה|נוסף לרשימה|נשלחה בהצלחה|אזכור את זה",
        short: "בוצע|נשמר|נרשם|נשלח|נוסף|סיימתי|טופל",
        unless: "לא אם כאשר אחרי לפני כלום אף",
    },
];

/// What tells of a finished deed where words don't stand apart, or are better not cut: Chinese, Japanese, Korean, Hindi.
pub(super) const UNSPACED: &str = "已添加|已经添加|已加入|已保存|已经保存|已发送|已经发送|已设置|已经设置|已设定|已创建|已删除|已更新|已记录|已完成|\
     已取消|已打开|已关闭|已预订|已下单|已帮|已为|已将|已经将|已把|已经把|添加好了|设置好了|设好了|记下了|记住了|搞定了|发送了|保存了|完成了|\
     已新增|已儲存|已傳送|已設定|已刪除|已記錄|已取消|記下了|記住了|追加しました|保存しました|送信しました|設定しました|作成しました|\
     削除しました|更新しました|記録しました|登録しました|完了しました|変更しました|キャンセルしました|予約しました|注文しました|覚えました|\
     メモしました|送りました|消しました|つけました|ておきました|いたしました|추가했|저장했|보냈습|보냈어|전송했|설정했|만들었|생성했|삭제했|\
     지웠|업데이트했|기록했|기억했|완료했|완료되었|취소했|예약했|변경했|켰습|켰어|껐습|껐어|추가되었|저장되었|전송되었|설정되었|메모했|\
     주문했|추가해 두|기억해 두|जोड़ दिया|जोड़ दी|जोड़ दिए|भेज दिया|भेज दी|सहेज लिया|सहेज दिया|सेव कर|कर दिया|कर दी|कर लिया|लगा दिया|\
     बना दिया|हटा दिया|बदल दिया|याद रख|नोट कर|बंद कर दि|चालू कर दि";
